#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/graph_arguments.h"
#include "cli/table.h"
#include "core/graph/npy_array.h"
#include "core/graph/quantise/quantiser.h"
#include "core/graph/session.h"
#include "core/images/image_set.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kModelQuantiseExamples = R"(Examples:
  tributary model quantise encoder.onnx --calibration images=images.npy --out encoder8.onnx
  tributary model quantise encoder.onnx --calibration images=glyphs --out encoder8.onnx
  tributary model quantise encoder.onnx --calibration images=images.npy --out encoder8.onnx --range least-squares --activations int8
  tributary model quantise encoder.onnx --calibration images=images.npy --out encoder8.onnx --range percentile --percentile 99.9 --json

Weights become int8 with a scale for each output channel, what flows between layers 8 bits with one scale. The examples
say which range that scale covers: give some hundred inputs as the graph will see them, one after another along the first
dimension. Batch norms are folded into convolutions. The errors compare both graphs on these examples; judge the result
on others. See docs/graphs.md.)";

struct ModelQuantiseArguments {
  std::string file, out;
  std::vector<std::string> calibration, dimensions;
  graph::ElementType activations = graph::ElementType::kUint8;
  graph::RangeRule rule = graph::RangeRule::kMinMax;
  double percentile = 99.99, split = 0;
  std::uint64_t memory_mib = 1024;
  bool json = false;
};

// What a panel's source "images" reads; anything else is .npy.
bool NamesImages(const std::string& path) {
  std::error_code error;
  return path == "glyphs" || path.ends_with(".gz") || path.ends_with("-ubyte") ||
         std::filesystem::is_directory(path, error);
}

// Images for an input [N, channels, side, side] as a panel gives them: 0 to 255. Some hundred suffice; they
// are taken from all over the set.
absl::StatusOr<graph::Array> ReadExampleImages(const std::string& path, const graph::Spec& input) {
  constexpr std::size_t kMostImages = 256;
  if (input.shape.size() != 4 || input.shape[2] != input.shape[3]) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the input is %s; images are [N, channels, side, side]", input.Text()));
  }
  const nn::ImageShape fitted = {static_cast<std::size_t>(input.shape[2]),
                                 static_cast<std::size_t>(input.shape[1])};
  ASSIGN_OR_RETURN(const images::ImageSet set,
                   images::ReadImages({path, "", fitted}, images::ImageUse::kTraining));
  if (set.image_size() != static_cast<std::size_t>(input.shape[1] * input.shape[2] * input.shape[3])) {
    return absl::InvalidArgumentError(
        absl::StrFormat("has images of %s pixels; the input is %s", set.shape().Text(), input.Text()));
  }
  const std::size_t count = std::min(set.count(), kMostImages);
  graph::Spec spec = input;
  spec.shape[0] = static_cast<std::int64_t>(count);
  graph::Array array(spec);
  for (std::size_t i = 0; i < count; ++i) {
    const auto image = set.image(i * set.count() / count);
    const auto at = static_cast<std::ptrdiff_t>(i * set.image_size());
    if (spec.type == graph::ElementType::kUint8) {
      std::ranges::copy(image, array.As<std::uint8_t>().begin() + at);
    } else {
      std::ranges::copy(image, array.As<float>().begin() + at);
    }
  }
  return array;
}

absl::StatusOr<graph::Array> ReadExample(const std::string& path, const std::string& name,
                                         const graph::Session& session) {
  if (!NamesImages(path)) {
    ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path, kMostGraphFileBytes));
    return graph::DecodeArray(file);
  }
  for (const graph::PortReport& input : session.inputs()) {
    const bool numbers =
        input.spec.type == graph::ElementType::kFloat32 || input.spec.type == graph::ElementType::kUint8;
    if (input.name == name && numbers) return ReadExampleImages(path, input.spec);
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("the graph has no input \"%s\" of float32 or uint8", wire::PeerText(name)));
}

absl::StatusOr<std::map<std::string, graph::Array>> ReadExamples(const ModelQuantiseArguments& arguments,
                                                                 const graph::Session& session) {
  std::map<std::string, graph::Array> examples;
  for (const std::string& text : arguments.calibration) {
    ASSIGN_OR_RETURN(const auto assignment, GraphAssignment("--calibration", text));
    ASSIGN_OR_RETURN(graph::Array array,
                     WithContext(runtime::Printable(assignment.second),
                                 ReadExample(assignment.second, assignment.first, session)));
    if (!examples.emplace(assignment.first, std::move(array)).second) {
      return UsageError(
          absl::StrFormat("--calibration %s is given twice", runtime::Printable(assignment.first)));
    }
  }
  return examples;
}

// On a terminal, every hundredth of the work.
std::function<void(std::size_t, std::size_t)> Progress(bool quiet) {
  if (quiet || isatty(STDERR_FILENO) == 0) return {};
  return [shown = std::size_t{101}](std::size_t done, std::size_t all) mutable {
    const std::size_t percent = 100 * done / all;
    if (percent == shown) return;
    shown = percent;
    std::cerr << "\rquantising: " << percent << " %" << (done == all ? "\r\033[K" : "") << std::flush;
  };
}

ordered_json ReportOf(const ModelQuantiseArguments& arguments, const graph::QuantiserReport& report) {
  ordered_json values = ordered_json::array();
  for (const graph::QuantisedValue& value : report.values) {
    ordered_json entry = {{"value", value.name}};
    if (!value.node.empty()) {
      entry["node"] = value.node;
      entry["operation"] = value.operation;
    }
    entry["range"] = {value.range.least, value.range.most};
    entry["scale"] = value.quantisation.scale;
    entry["zero_point"] = value.quantisation.zero_point;
    entry["relative_error"] = value.relative_error;
    values.push_back(std::move(entry));
  }
  ordered_json outputs = ordered_json::object();
  for (const auto& [name, error] : report.outputs) outputs[name] = error;
  return {{"file", arguments.out},
          {"bytes", report.file.size()},
          {"examples", report.examples},
          {"folded_batch_norms", report.folded_batch_norms},
          {"split_channels", report.split_channels},
          {"layers", std::move(values)},
          {"output_relative_errors", std::move(outputs)},
          {"left_in_floats", report.left_in_floats}};
}

void PrintReport(const ordered_json& report, std::size_t original_bytes) {
  Table table(
      {Left("VALUE"), Left("NODE"), Left("OPERATION"), Right("LEAST"), Right("MOST"), Right("ERROR")});
  for (const auto& layer : report["layers"]) {
    table.Add(layer["value"].get<std::string>(), layer.value("node", ""), layer.value("operation", "input"),
              absl::StrFormat("%.4g", layer["range"][0].get<double>()),
              absl::StrFormat("%.4g", layer["range"][1].get<double>()),
              absl::StrFormat("%.2f %%", 100 * layer["relative_error"].get<double>()));
  }
  std::cout << table.Text() << "\n";
  for (const auto& node : report["left_in_floats"]) {
    std::cout << "left in floats: " << wire::PeerText(node.get<std::string>()) << "\n";
  }
  for (const auto& [name, error] : report["output_relative_errors"].items()) {
    std::cout << absl::StrFormat("output %s: %.2f %% relative error on %d examples\n", wire::PeerText(name),
                                 100 * error.get<double>(), report["examples"].get<std::size_t>());
  }
  std::cout << absl::StrFormat("%s: %d bytes, %d before; %d batch norms folded, %d channels split\n",
                               runtime::Printable(report["file"].get<std::string>()),
                               report["bytes"].get<std::size_t>(), original_bytes,
                               report["folded_batch_norms"].get<int>(), report["split_channels"].get<int>());
}

absl::Status QuantiseModel(const ModelQuantiseArguments& arguments) {
  std::vector<std::string> read = {arguments.file};
  for (const std::string& text : arguments.calibration) read.push_back(text.substr(text.find('=') + 1));
  RETURN_IF_ERROR(CheckOutput(arguments.out, read));
  ASSIGN_OR_RETURN(auto dimensions, GraphDimensions(arguments.dimensions));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(arguments.file, kMostGraphFileBytes));
  const std::uint64_t memory_bytes = arguments.memory_mib << 20;
  ASSIGN_OR_RETURN(
      const auto session,
      WithContext(arguments.file, graph::Session::Load(file, {.reader = {.dimensions = dimensions},
                                                              .memory_bytes = memory_bytes})));
  ASSIGN_OR_RETURN(const auto examples, ReadExamples(arguments, *session));
  ASSIGN_OR_RETURN(
      const graph::QuantiserReport report,
      WithContext(arguments.file, graph::Quantise(file, examples,
                                                  {.reader = {.dimensions = std::move(dimensions)},
                                                   .memory_bytes = memory_bytes,
                                                   .activations = arguments.activations,
                                                   .rule = arguments.rule,
                                                   .percentile = arguments.percentile,
                                                   .split_share = arguments.split,
                                                   .progress = Progress(arguments.json)})));
  RETURN_IF_ERROR(WriteOutput(arguments.out, report.file));
  const ordered_json said = ReportOf(arguments, report);
  if (arguments.json) {
    std::cout << wire::DumpJson(said) << "\n";
  } else {
    PrintReport(said, file.size());
  }
  return absl::OkStatus();
}

}  // namespace

void AddModelQuantiseCommand(Commands& model) {
  auto [command, arguments] = model.Add<ModelQuantiseArguments>(
      "quantise", "Make an ONNX graph one of 8-bit integers", QuantiseModel);
  command.Text("file", arguments.file, "FILE", "ONNX file of floats, operator sets 13 to 17")->required();
  command
      .Texts("--calibration", arguments.calibration, "NAME=FILE",
             "Examples of an input, once for each input: .npy, or images as a panel reads them (idx file, "
             "folder of pictures, \"glyphs\")")
      ->required();
  command.Text("--out", arguments.out, "FILE", "ONNX file to write, in QDQ form")->required();
  command.Choice("--activations", arguments.activations,
                 {{"uint8", graph::ElementType::kUint8}, {"int8", graph::ElementType::kInt8}},
                 "What flows between layers");
  command.Choice("--range", arguments.rule,
                 {{"min-max", graph::RangeRule::kMinMax},
                  {"percentile", graph::RangeRule::kPercentile},
                  {"least-squares", graph::RangeRule::kLeastSquares}},
                 "Which range of the examples' values a scale covers");
  command.Number("--percentile", arguments.percentile, "PERCENT",
                 "Share of the values within the range, with --range percentile", {50, 100});
  command.Number("--split", arguments.split, "SHARE",
                 "Share of the channels between two convolutions to split, those of large weights first",
                 {0, 1});
  command.Texts("--dimension", arguments.dimensions, "NAME=N",
                "Size of a dimension that the file leaves open");
  command.Number("--memory-mib", arguments.memory_mib, "MIB", "Refuse a graph that needs more", {1, 65'536});
  command.Json(arguments.json);
  command.Examples(kModelQuantiseExamples);
}

}  // namespace tributary::cli
