#include "cli/model_inspect.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/model_file.h"
#include "cli/model_source.h"
#include "core/parameters/identity.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/service.h"

namespace tributary {
namespace {

struct Arguments {
  ConnectionArguments connection;
  std::string file;
  bool json = false;
};

// Smallest and largest value of a float32 tensor that is not empty.
std::optional<std::pair<float, float>> RangeOf(const Tensor& tensor) {
  const auto values = FloatValues("", tensor, tensor.shape);
  if (!values.ok() || values->empty()) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(*values);
  return std::pair(lowest, highest);
}

void PrintJson(const std::string& path, const TensorSet& set) {
  nlohmann::ordered_json json = {{"file", path}, {"sha256", HexOf(ParameterIdentity(set))}};
  json["metadata"] = set.metadata;
  json["tensors"] = nlohmann::ordered_json::array();
  for (const auto& [name, tensor] : set.tensors) {
    nlohmann::ordered_json entry = {
        {"name", name}, {"dtype", ElementTypeName(tensor.type)}, {"shape", tensor.shape}};
    if (const auto range = RangeOf(tensor)) {
      entry["min"] = range->first;
      entry["max"] = range->second;
    }
    json["tensors"].push_back(std::move(entry));
  }
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

void PrintText(const std::string& path, const TensorSet& set) {
  std::cout << path << "\nsha256 " << HexOf(ParameterIdentity(set)) << "\n\n";
  for (const auto& [key, value] : set.metadata) std::cout << absl::StrFormat("%-14s %s\n", key, value);
  std::cout << "\n";
  for (const auto& [name, tensor] : set.tensors) {
    std::cout << absl::StrFormat("%-30s %-4s %-12s", name, std::string(ElementTypeName(tensor.type)),
                                 absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]"));
    if (const auto range = RangeOf(tensor)) {
      std::cout << absl::StrFormat(" %.4g … %.4g", range->first, range->second);
    }
    std::cout << "\n";
  }
}

absl::Status Inspect(const Arguments& arguments) {
  const absl::StatusOr<std::string> path = IsOfARun(arguments.file)
                                               ? absl::StatusOr<std::string>(arguments.file)
                                               : FindModelFile(arguments.file, "positioning.safetensors");
  if (!path.ok()) return path.status();
  const auto file = ReadModelSource(*path, arguments.connection);
  if (!file.ok()) return file.status();
  const auto set = DecodeSafetensors(*file);
  if (!set.ok()) return absl::Status(set.status().code(), absl::StrCat(*path, ": ", set.status().message()));
  if (arguments.json) {
    PrintJson(*path, *set);
  } else {
    PrintText(*path, *set);
  }
  return absl::OkStatus();
}

}  // namespace

void AddModelInspectCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = parent.add_subcommand("inspect", "Identity, metadata and tensors of a model");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("model", arguments->file,
                      std::string(kModelSourceHelp) + "; default: the shipped positioning model");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Examples:\n  tributary model inspect encoder.safetensors\n  tributary model inspect run:letters@3 "
      "--json | jq .metadata");
  command->callback([arguments, &exit_code] {
    const absl::Status status = Inspect(*arguments);
    exit_code = status.ok() ? kExitOk : ReportFailure("model inspect", status);
  });
}

}  // namespace tributary
