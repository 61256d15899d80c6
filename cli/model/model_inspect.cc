#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/model/model_source.h"
#include "core/exchange/onnx_file.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

using nlohmann::ordered_json;

struct ModelInspectArguments {
  ConnectionArguments connection;
  std::string file;
  bool json = false;
};

// {"sha256", "metadata", "tensors": [{"name", "dtype", "shape", "min", "max"}]}; min and max only of float32
// tensors that are not empty.
ordered_json SummariseTensors(const parameters::TensorSet& set) {
  ordered_json summary = {{"sha256", parameters::HexOf(parameters::ParameterIdentity(set))},
                          {"metadata", set.metadata},
                          {"tensors", ordered_json::array()}};
  for (const auto& [name, tensor] : set.tensors) {
    ordered_json entry = {
        {"name", name}, {"dtype", parameters::ElementTypeName(tensor.type)}, {"shape", tensor.shape}};
    const auto values = parameters::FloatValues("", tensor, tensor.shape);
    if (values.ok() && !values->empty()) {
      const auto [lowest, highest] = std::ranges::minmax(*values);
      entry["min"] = lowest;
      entry["max"] = highest;
    }
    summary["tensors"].push_back(std::move(entry));
  }
  return summary;
}

// A model may come from a peer.
std::string Text(const ordered_json& value) { return wire::PeerText(value.get<std::string>()); }

void PrintMetadata(const ordered_json& metadata, bool with_producer) {
  for (const auto& [key, value] : metadata.items()) {
    if (with_producer || key != "producer") {
      std::cout << absl::StrFormat("%-18s %s\n", wire::PeerText(key), Text(value));
    }
  }
}

void PrintTensors(const std::string& path, const ordered_json& model) {
  std::cout << runtime::Printable(path) << "\nsha256 " << model["sha256"].get<std::string>() << "\n\n";
  PrintMetadata(model["metadata"], true);
  std::cout << "\n";
  for (const auto& tensor : model["tensors"]) {
    const auto shape = tensor["shape"].get<std::vector<std::uint64_t>>();
    std::cout << absl::StrFormat("%-30s %-4s %-12s", Text(tensor["name"]), Text(tensor["dtype"]),
                                 absl::StrCat("[", absl::StrJoin(shape, ", "), "]"));
    if (tensor.contains("min")) {
      std::cout << absl::StrFormat(" %.4g … %.4g", tensor["min"].get<double>(), tensor["max"].get<double>());
    }
    std::cout << "\n";
  }
}

void PrintOnnx(const std::string& path, const ordered_json& model) {
  std::cout << runtime::Printable(path) << "\n\n"
            << absl::StrFormat("%-18s %s\n%-18s %s\n", "producer", Text(model["producer"]), "opset",
                               wire::DumpJson(model["opset"]));
  PrintMetadata(model["metadata"], false);
  for (const char* part : {"inputs", "outputs", "tensors"}) {
    std::cout << "\n" << part << "\n";
    for (const auto& value : model[part]) {
      std::cout << absl::StrFormat("%-30s %-7s %s\n", Text(value["name"]), Text(value["dtype"]),
                                   wire::PeerText(wire::DumpJson(value["shape"])));
    }
  }
}

// A run's model is described as an export of it; a file says of itself what it says.
absl::StatusOr<parameters::TensorSet> ReadTensors(const std::string& path,
                                                  const ConnectionArguments& connection) {
  if (IsOfARun(path)) return ReadDescribedModel(path, connection);
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path));
  return WithContext(path, parameters::DecodeSafetensors(file));
}

absl::Status Inspect(const ModelInspectArguments& arguments) {
  const bool onnx = arguments.file.ends_with(".onnx") && !IsOfARun(arguments.file);
  ASSIGN_OR_RETURN(const std::string path, FindModelFile(arguments.file, "positioning.safetensors"));
  ordered_json model;
  if (onnx) {
    ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path));
    ASSIGN_OR_RETURN(model, WithContext(path, exchange::SummariseOnnx(file)));
  } else {
    ASSIGN_OR_RETURN(const auto set, ReadTensors(path, arguments.connection));
    model = SummariseTensors(set);
  }
  if (!arguments.json) {
    (onnx ? PrintOnnx : PrintTensors)(path, model);
    return absl::OkStatus();
  }
  ordered_json said = {{"file", path}};
  said.update(model);
  std::cout << wire::DumpJson(said) << "\n";
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
      "tributary model inspect run:letters@3 --json | jq .metadata");
}

}  // namespace tributary::cli
