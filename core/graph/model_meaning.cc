#include "core/graph/model_meaning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/graph/quantise/model_edit.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

absl::StatusOr<std::map<std::string, std::string>> MetadataOf(const OutputMeaning& meaning) {
  std::map<std::string, std::string> metadata;
  const auto set = [&](std::string_view key, std::string value) {
    metadata[std::string(kOwnMetadata) + std::string(key)] = std::move(value);
  };
  set("outputs", std::string(kOutputKindNames[static_cast<std::size_t>(meaning.kind) - 1]));
  if (TellsClasses(meaning.kind)) {
    for (const std::string& name : meaning.classes) {
      if (name.find(',') == std::string::npos) continue;
      return absl::InvalidArgumentError(
          fmt::format("classes: \"{}\" has a comma, which divides names in the file", name));
    }
    set("classes", fmt::format("{}", fmt::join(meaning.classes, ",")));
    set("temperature", fmt::format("{}", meaning.temperature));
  } else {
    set("covariance_scale", fmt::format("{}", meaning.covariance_scale));
  }
  return metadata;
}

void KeepOutput(const std::string& name, ModelEdit& edit) {
  auto& outputs = *edit.graph().mutable_output();
  if (name.empty() || outputs.size() == 1) return;
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [&](const onnx::ValueInfoProto& output) { return output.name() != name; }),
                outputs.end());
  edit.DropUnread();
}

}  // namespace

absl::StatusOr<std::string> WithMeaning(std::string_view file, const OutputMeaning& meaning) {
  ASSIGN_OR_RETURN(auto metadata, MetadataOf(meaning));
  ASSIGN_OR_RETURN(ModelEdit edit, ModelEdit::Open(file, {}));
  KeepOutput(meaning.output, edit);
  auto& entries = *edit.model().mutable_metadata_props();
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const onnx::StringStringEntryProto& entry) {
                                 return entry.key().starts_with(kOwnMetadata);
                               }),
                entries.end());
  for (auto& [key, value] : metadata) {
    onnx::StringStringEntryProto& entry = *entries.Add();
    entry.set_key(key);
    entry.set_value(std::move(value));
  }
  return edit.Bytes();
}

}  // namespace tributary::graph
