#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/model/model_file.h"
#include "cli/model/model_source.h"
#include "cli/model/onnx_summary.h"
#include "core/parameters/identity.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "core/wire/dump_json.h"
#include "core/wire/peer_text.h"

namespace tributary::cli {
namespace {

struct ModelInspectArguments {
  ConnectionArguments connection;
  std::string file;
  bool json = false;
};

// Smallest and largest value of a float32 tensor that is not empty.
std::optional<std::pair<float, float>> RangeOf(const parameters::Tensor& tensor) {
  const auto values = parameters::FloatValues("", tensor, tensor.shape);
  if (!values.ok() || values->empty()) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(*values);
  return std::pair(lowest, highest);
}

void PrintJson(const std::string& path, const parameters::TensorSet& set) {
  nlohmann::ordered_json json = {{"file", path},
                                 {"sha256", parameters::HexOf(parameters::ParameterIdentity(set))}};
  json["metadata"] = set.metadata;
  json["tensors"] = nlohmann::ordered_json::array();
  for (const auto& [name, tensor] : set.tensors) {
    nlohmann::ordered_json entry = {
        {"name", name}, {"dtype", parameters::ElementTypeName(tensor.type)}, {"shape", tensor.shape}};
    if (const auto range = RangeOf(tensor)) {
      entry["min"] = range->first;
      entry["max"] = range->second;
    }
    json["tensors"].push_back(std::move(entry));
  }
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

// A model may come from a peer.
void PrintEntry(const std::string& key, const std::string& value) {
  std::cout << absl::StrFormat("%-18s %s\n", wire::PeerText(key), wire::PeerText(value));
}

void PrintOnnxValues(const nlohmann::ordered_json& values) {
  for (const auto& value : values) {
    std::cout << absl::StrFormat("%-30s %-7s %s\n", wire::PeerText(value["name"].get<std::string>()),
                                 value["dtype"].get<std::string>(),
                                 wire::PeerText(wire::DumpJson(value["shape"])));
  }
}

void PrintOnnxText(const std::string& path, const nlohmann::ordered_json& model) {
  std::cout << path << "\n\n";
  PrintEntry("producer", model["producer"].get<std::string>());
  PrintEntry("opset", wire::DumpJson(model["opset"]));
  for (const auto& [key, value] : model["metadata"].items()) {
    if (key != "producer") PrintEntry(key, value.get<std::string>());
  }
  for (const char* part : {"inputs", "outputs", "tensors"}) {
    std::cout << "\n" << part << "\n";
    PrintOnnxValues(model[part]);
  }
}

absl::Status InspectOnnx(const ModelInspectArguments& arguments) {
  const auto file = ReadModelSource(arguments.file, arguments.connection);
  if (!file.ok()) return file.status();
  const auto model = SummariseOnnx(*file);
  if (!model.ok()) {
    return absl::Status(model.status().code(), absl::StrCat(arguments.file, ": ", model.status().message()));
  }
  if (!arguments.json) {
    PrintOnnxText(arguments.file, *model);
    return absl::OkStatus();
  }
  nlohmann::ordered_json json = {{"file", arguments.file}};
  json.update(*model);
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  return absl::OkStatus();
}

void PrintText(const std::string& path, const parameters::TensorSet& set) {
  std::cout << path << "\nsha256 " << parameters::HexOf(parameters::ParameterIdentity(set)) << "\n\n";
  for (const auto& [key, value] : set.metadata) PrintEntry(key, value);
  std::cout << "\n";
  for (const auto& [name, tensor] : set.tensors) {
    std::cout << absl::StrFormat("%-30s %-4s %-12s", wire::PeerText(name),
                                 std::string(parameters::ElementTypeName(tensor.type)),
                                 absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]"));
    if (const auto range = RangeOf(tensor)) {
      std::cout << absl::StrFormat(" %.4g … %.4g", range->first, range->second);
    }
    std::cout << "\n";
  }
}

absl::StatusOr<parameters::TensorSet> ReadModelFile(const std::string& path) {
  const auto file = runtime::ReadFile(path);
  if (!file.ok()) return file.status();
  auto set = parameters::DecodeSafetensors(*file);
  if (!set.ok()) return absl::Status(set.status().code(), absl::StrCat(path, ": ", set.status().message()));
  return set;
}

absl::Status Inspect(const ModelInspectArguments& arguments) {
  if (arguments.file.ends_with(".onnx") && !IsOfARun(arguments.file)) return InspectOnnx(arguments);
  const absl::StatusOr<std::string> path = IsOfARun(arguments.file)
                                               ? absl::StatusOr<std::string>(arguments.file)
                                               : FindModelFile(arguments.file, "positioning.safetensors");
  if (!path.ok()) return path.status();
  // A run's model is described as an export of it; a file says of itself what it says.
  const bool of_a_run = IsOfARun(arguments.file);
  const auto set = of_a_run ? ReadDescribedModel(*path, arguments.connection) : ReadModelFile(*path);
  if (!set.ok()) return set.status();
  if (arguments.json) {
    PrintJson(*path, *set);
  } else {
    PrintText(*path, *set);
  }
  return absl::OkStatus();
}

}  // namespace

void AddModelInspectCommand(Commands& model) {
  auto [command, arguments] = model.Add<ModelInspectArguments>(
      "inspect", "Show the identity, metadata and tensors of a model", Inspect);
  command.Connection(arguments.connection);
  command.Text(
      "model", arguments.file, kModelSourceType,
      std::string(kModelSourceHelp) + "; also an .onnx file; default: the shipped positioning model");
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n  tributary model inspect encoder.safetensors\n  tributary model inspect encoder.onnx\n  "
      "tributary model inspect run:letters@3 "
      "--json | jq .metadata");
}

}  // namespace tributary::cli
