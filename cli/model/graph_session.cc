#include "cli/model/graph_session.h"

#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "cli/failure.h"
#include "cli/model/graph_arguments.h"
#include "core/graph/npy_array.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"
#include "node/accelerator/tensor_target.h"

namespace tributary::cli {
namespace {

// A board is not given up for a slow run: nobody waits for a slot here.
constexpr std::chrono::milliseconds kBoardPatience{60'000};

absl::StatusOr<std::unique_ptr<graph::SectionTarget>> OpenGraphAccelerator(
    const GraphSessionArguments& arguments) {
  if (arguments.xclbin.empty() != (arguments.accelerator != GraphAccelerator::kXrt)) {
    return UsageError("--accelerator xrt and --xclbin FILE go together");
  }
  if (arguments.accelerator != GraphAccelerator::kCpu &&
      arguments.arithmetic == graph::Arithmetic::kAsWritten) {
    return UsageError("--arithmetic floats is computed by the processor: leave --accelerator away");
  }
  switch (arguments.accelerator) {
    case GraphAccelerator::kCpu:
      if (arguments.float_layers != accelerator::FloatLayers::kProcessor) {
        return UsageError("--float-layers is for an --accelerator other than cpu");
      }
      break;
    case GraphAccelerator::kTensorModel:
      return std::make_unique<accelerator::TensorModelTarget>(fpga::TensorUnitSize{.lanes = arguments.lanes},
                                                              arguments.float_layers);
    case GraphAccelerator::kXrt: {
      if (arguments.lanes != 16) return UsageError("--lanes is for tensor-model: tensor_kernel has 16");
      accelerator::XrtOptions options;
      options.xclbin = arguments.xclbin;
      options.device = arguments.device;
      options.run_timeout = kBoardPatience;
      options.float_layers = arguments.float_layers;
      return accelerator::OpenXrtTensorUnit(options);
    }
  }
  return nullptr;
}

}  // namespace

CLI::Option* DeclareGraphSession(Command& command, GraphSessionArguments& arguments) {
  CLI::Option* const file = command.Text("file", arguments.file, "FILE", "ONNX file, operator sets 13 to 17");
  command.Texts("--dimension", arguments.dimensions, "NAME=N",
                "Size of a dimension that the file leaves open");
  command.Choice(
      "--accelerator", arguments.accelerator,
      {{"cpu", GraphAccelerator::kCpu},
       {"tensor-model", GraphAccelerator::kTensorModel},
       {"xrt", GraphAccelerator::kXrt}},
      "What computes quantised layers: the processor, the tensor unit's golden model, or a board's "
      "tensor unit");
  command.Text("--xclbin", arguments.xclbin, "FILE",
               "With xrt: the board's file, with the kernel tensor_kernel, or the one that has the precision "
               "of --float-layers");
  command.Number("--device", arguments.device, "N", "With xrt: index of the board", {0, 255});
  command.Choice(
      "--float-layers", arguments.float_layers,
      {{"processor", accelerator::FloatLayers::kProcessor},
       {"bfloat16", accelerator::FloatLayers::kBfloat16},
       {"float32", accelerator::FloatLayers::kFloat32}},
      "What computes convolutions and products that are not quantised: the processor, or the accelerator in "
      "that precision");
  command.Choice("--lanes", arguments.lanes, {{"8", 8}, {"16", 16}, {"32", 32}},
                 "Rows and columns of the tensor unit");
  command.Choice("--arithmetic", arguments.arithmetic,
                 {{"integers", graph::Arithmetic::kIntegers}, {"floats", graph::Arithmetic::kAsWritten}},
                 "How quantised layers are computed");
  command.Number("--memory-mib", arguments.memory_mib, "MIB", "Refuse a graph that needs more", {1, 65'536});
  return file;
}

absl::StatusOr<GraphSession> OpenGraphSession(const GraphSessionArguments& arguments) {
  GraphSession opened;
  ASSIGN_OR_RETURN(opened.accelerator, OpenGraphAccelerator(arguments));
  if (arguments.strict && opened.accelerator == nullptr) {
    return UsageError("--strict needs an --accelerator other than cpu");
  }
  graph::SessionOptions options{.memory_bytes = arguments.memory_mib << 20,
                                .arithmetic = arguments.arithmetic,
                                .accelerator = opened.accelerator.get(),
                                .strict = arguments.strict};
  ASSIGN_OR_RETURN(options.reader.dimensions, GraphDimensions(arguments.dimensions));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(arguments.file, kMostGraphFileBytes));
  ASSIGN_OR_RETURN(opened.session, WithContext(arguments.file, graph::Session::Load(file, options)));
  return opened;
}

absl::StatusOr<std::vector<graph::Array>> ReadGraphInputs(const std::vector<std::string>& inputs,
                                                          const graph::Session& session,
                                                          const MissingInput& missing) {
  std::map<std::string, std::string> files;
  for (const std::string& text : inputs) {
    ASSIGN_OR_RETURN(auto assignment, GraphAssignment("--input", text));
    if (!files.insert(assignment).second) {
      return UsageError(absl::StrFormat("--input %s is given twice", runtime::Printable(assignment.first)));
    }
  }
  std::vector<graph::Array> arrays;
  for (const graph::PortReport& input : session.inputs()) {
    const auto given = files.extract(input.name);
    if (given.empty()) {
      ASSIGN_OR_RETURN(graph::Array array, missing(input));
      arrays.push_back(std::move(array));
      continue;
    }
    ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(given.mapped(), kMostGraphFileBytes));
    ASSIGN_OR_RETURN(graph::Array array, WithContext(given.mapped(), graph::DecodeArray(file)));
    arrays.push_back(std::move(array));
  }
  if (files.empty()) return arrays;
  return UsageError(
      absl::StrFormat("--input %s: the graph has no such input", runtime::Printable(files.begin()->first)));
}

nlohmann::ordered_json AcceleratorShares(const graph::SectionTarget& accelerator,
                                         const graph::Session& session) {
  const graph::AcceleratorReport& report = session.accelerator();
  const std::uint64_t most_products = report.cycles * accelerator.products_per_cycle();
  nlohmann::ordered_json shares = {
      {"name", accelerator.name()},
      {"nodes", report.nodes},
      {"share_of_nodes", ShareOf(report.nodes, report.all_nodes)},
      {"multiply_accumulates", report.products},
      {"share_of_multiply_accumulates", ShareOf(report.products, report.all_products)},
      {"cycles", report.cycles},
      {"transfer_cycles", report.transfers},
      {"utilisation", ShareOf(static_cast<std::uint64_t>(report.products), most_products)}};
  if (report.counted_cycles != 0) shares["counted_cycles"] = report.counted_cycles;
  return shares;
}

std::string AcceleratorText(const nlohmann::ordered_json& shares) {
  std::string text = absl::StrFormat(
      "runs on  %s: %.1f %% of nodes, %.2f %% of multiply-accumulates; %d cycles, %d of them for transfers; "
      "%.1f %% of its multiply-accumulates used\n",
      shares["name"].get<std::string>(), 100 * shares["share_of_nodes"].get<double>(),
      100 * shares["share_of_multiply_accumulates"].get<double>(), shares["cycles"].get<std::uint64_t>(),
      shares["transfer_cycles"].get<std::uint64_t>(), 100 * shares["utilisation"].get<double>());
  if (shares["nodes"].get<std::int64_t>() == 0) {
    text +=
        "NOTE     nothing runs there: --plan says why of each layer; --float-layers gives it those in "
        "floats\n";
  }
  if (shares.contains("counted_cycles")) {
    absl::StrAppendFormat(&text, "counted  %d cycles in the last run\n",
                          shares["counted_cycles"].get<std::uint64_t>());
  }
  return text;
}

}  // namespace tributary::cli
