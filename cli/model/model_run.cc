#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/graph_session.h"
#include "cli/table.h"
#include "core/graph/npy_array.h"
#include "core/graph/session.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kModelRunExamples = R"(Examples:
  tributary model run encoder.onnx --plan                          what goes in and out, and what each node costs
  tributary model run encoder.onnx --dimension N=4 --input images=images.npy --out features
  tributary model run encoder.onnx --plan --accelerator tensor-model --lanes 32     shares, cycles
  tributary model run encoder.onnx --accelerator xrt --xclbin tensor.xclbin --input images=images.npy --out features
  tributary model run encoder.onnx --plan --accelerator tensor-model --float-layers bfloat16    a graph that is not quantised
  tributary model run encoder.onnx --arithmetic floats --dimension N=4 --input images=images.npy --out features
  tributary model run --operations                                 what graphs may consist of

Make a graph of floats one of quantised layers with "tributary model quantise". Quantised layers (DequantizeLinear, convolution or product, QuantizeLinear) are computed in integers; --plan says which, and why others
are not. "--arithmetic floats" computes them node for node as the file has them: results differ by one step of a layer's
scale at most. Each output becomes FOLDER/NAME.npy.
A dimension of any size is 1 unless --dimension says otherwise. What is not supported is named: no node is left out.)";

struct ModelRunArguments {
  GraphSessionArguments graph;
  std::string out;
  bool plan = false, operations = false, json = false;
};

ordered_json PortsOf(const std::vector<graph::PortReport>& ports) {
  ordered_json list = ordered_json::array();
  for (const graph::PortReport& port : ports) {
    list.push_back(
        {{"name", port.name}, {"dtype", graph::NameOf(port.spec.type)}, {"shape", port.spec.shape}});
  }
  return list;
}

ordered_json PlanOf(const std::string& path, const graph::Session& session) {
  ordered_json nodes = ordered_json::array();
  std::int64_t products = 0;
  for (const graph::NodeReport& node : session.nodes()) {
    nodes.push_back({{"name", node.name},
                     {"operation", node.operation},
                     {"result", node.result},
                     {"multiply_accumulates", node.products},
                     {"runs_on", node.runs_on},
                     {"arithmetic", node.arithmetic}});
    if (!node.layer.empty()) nodes.back()["layer"] = node.layer;
    if (!node.why.empty()) nodes.back()["why"] = node.why;
    if (node.cycles != 0) nodes.back()["cycles"] = node.cycles;
    products += node.products;
  }
  return {{"file", path},
          {"inputs", PortsOf(session.inputs())},
          {"outputs", PortsOf(session.outputs())},
          {"memory_bytes", session.memory_bytes()},
          {"multiply_accumulates", products},
          {"nodes", std::move(nodes)}};
}

// The layer that a node is a part of, and what keeps it from one or from the accelerator.
std::string LayerText(const ordered_json& node) {
  const std::string layer = node.value("layer", ""), why = node.value("why", "");
  return why.empty() ? layer : (layer.empty() ? "none" : layer) + ": " + why;
}

void PrintPlan(const ordered_json& plan) {
  for (const char* side : {"inputs", "outputs"}) {
    for (const auto& port : plan[side]) {
      std::cout << absl::StrFormat("%-8s %s %s %s\n", side == std::string("inputs") ? "input" : "output",
                                   wire::PeerText(port["name"].get<std::string>()),
                                   port["dtype"].get<std::string>(), port["shape"].dump());
    }
  }
  std::cout << absl::StrFormat("memory   %.1f MiB, %d multiply-accumulates a run\n",
                               plan["memory_bytes"].get<double>() / (1 << 20),
                               plan["multiply_accumulates"].get<std::int64_t>());
  if (plan.contains("accelerator")) std::cout << AcceleratorText(plan["accelerator"]);
  std::cout << "\n";
  Table table({Left("NODE"), Left("OPERATION"), Left("RESULT"), Right("MACS"), Left("RUNS ON"),
               Left("ARITHMETIC"), Left("LAYER")});
  for (const auto& node : plan["nodes"]) {
    table.Add(node["name"].get<std::string>(), node["operation"].get<std::string>(),
              node["result"].get<std::string>(), node["multiply_accumulates"].get<std::int64_t>(),
              node["runs_on"].get<std::string>(), node["arithmetic"].get<std::string>(), LayerText(node));
  }
  std::cout << table.Text();
}

// A file's name that the graph's output cannot lead out of the folder.
absl::StatusOr<std::string> FileOf(const std::string& folder, const std::string& output) {
  std::string name = output;
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_' || c == '.';
    if (!plain) c = '_';
  }
  if (name.empty() || name.front() == '.' || name.size() > 200) {
    return absl::InvalidArgumentError("the output \"" + wire::PeerText(output) + "\" cannot name a file");
  }
  return folder + "/" + name + ".npy";
}

void PrintOperations(bool as_json) {
  if (as_json) {
    std::cout << ordered_json{{"operations", graph::OperationNames()}}.dump() << "\n";
    return;
  }
  for (const std::string_view name : graph::OperationNames()) std::cout << name << "\n";
}

absl::Status RunModel(const ModelRunArguments& arguments) {
  if (arguments.operations) {
    PrintOperations(arguments.json);
    return absl::OkStatus();
  }
  const std::string& file = arguments.graph.file;
  if (file.empty()) return UsageError("give an ONNX file");
  if (arguments.plan == !arguments.out.empty()) return UsageError("give either --out FOLDER or --plan");
  ASSIGN_OR_RETURN(const GraphSession opened, OpenGraphSession(arguments.graph));
  const auto& [accelerator, session] = opened;
  ordered_json said = PlanOf(file, *session);
  if (accelerator != nullptr) said["accelerator"] = AcceleratorShares(*accelerator, *session);
  if (arguments.plan) {
    if (arguments.json) {
      std::cout << wire::DumpJson(said) << "\n";
    } else {
      PrintPlan(said);
    }
    return absl::OkStatus();
  }
  const auto missing = [](const graph::PortReport& input) -> absl::StatusOr<graph::Array> {
    return UsageError(
        absl::StrFormat("--input %s=FILE.npy is missing: %s", wire::PeerText(input.name), input.spec.Text()));
  };
  ASSIGN_OR_RETURN(const std::vector<graph::Array> arrays,
                   ReadGraphInputs(arguments.graph.inputs, *session, missing));
  std::error_code error;
  std::filesystem::create_directories(arguments.out, error);
  std::vector<std::string> paths;
  for (const graph::PortReport& output : session->outputs()) {
    ASSIGN_OR_RETURN(paths.emplace_back(), FileOf(arguments.out, output.name));
    RETURN_IF_ERROR(CheckOutput(paths.back()));
  }
  std::vector<graph::View> views;
  for (const graph::Array& array : arrays) views.push_back(array.view());
  const auto begin = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(WithContext(file, session->Run(views)));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  said.erase("nodes");
  if (accelerator != nullptr) said["accelerator"] = AcceleratorShares(*accelerator, *session);
  said["seconds"] = took.count();
  said["files"] = paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    RETURN_IF_ERROR(WriteOutput(paths[i], graph::EncodeArray(session->output(i))));
    if (!arguments.json) {
      std::cout << runtime::Printable(paths[i]) << ": " << session->outputs()[i].spec.Text() << "\n";
    }
  }
  if (arguments.json) {
    std::cout << wire::DumpJson(said) << "\n";
  } else if (accelerator != nullptr) {
    std::cout << AcceleratorText(said["accelerator"]);
  }
  return absl::OkStatus();
}

}  // namespace

void AddModelRunCommand(Commands& model) {
  auto [command, arguments] =
      model.Add<ModelRunArguments>("run", "Compute an ONNX graph on arrays", RunModel);
  DeclareGraphSession(command, arguments.graph);
  command.Texts("--input", arguments.graph.inputs, "NAME=FILE",
                "An input of the graph as .npy, once for each");
  command.Text("--out", arguments.out, "FOLDER", "Where the outputs go");
  command.Flag("--plan", arguments.plan, "Say what would be computed, and compute nothing");
  command.Flag("--strict", arguments.graph.strict,
               "Refuse a graph of which the processor would compute more than the ends in floats");
  command.Flag("--operations", arguments.operations, "List the operations that are known");
  command.Json(arguments.json);
  command.Examples(kModelRunExamples);
}

}  // namespace tributary::cli
