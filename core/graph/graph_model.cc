#include "core/graph/graph_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/parameters/tensor.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

constexpr std::size_t kMaxClassName = 128;

absl::Status KeyFault(std::string_view key, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", key, what));
}

// What the configuration leaves open.
absl::Status TakeFromFile(const Session& session, OutputMeaning& meaning) {
  const auto said = [&session](std::string_view key) -> const std::string* {
    const auto entry = session.metadata().find(std::string(kOwnMetadata) + std::string(key));
    return entry == session.metadata().end() ? nullptr : &entry->second;
  };
  if (const std::string* const kind = said("outputs");
      kind != nullptr && meaning.kind == OutputKind::kUnknown) {
    const auto known = std::ranges::find(kOutputKindNames, *kind);
    if (known == std::end(kOutputKindNames)) {
      return KeyFault("kind", fmt::format("the file's \"tributary.outputs\" is none of {}",
                                          fmt::join(kOutputKindNames, ", ")));
    }
    meaning.kind = static_cast<OutputKind>(known - std::begin(kOutputKindNames) + 1);
  }
  if (const std::string* const classes = said("classes"); classes != nullptr && meaning.classes.empty()) {
    meaning.classes = absl::StrSplit(*classes, ',');
  }
  for (const auto& [key, number] : {std::pair("temperature", &meaning.temperature),
                                    std::pair("covariance_scale", &meaning.covariance_scale)}) {
    if (const std::string* const text = said(key); text != nullptr && *number == 0) {
      if (!absl::SimpleAtod(*text, number) || !(*number > 0)) {
        return KeyFault(key, fmt::format("the file's \"tributary.{}\" is no number above 0", key));
      }
    }
    if (*number == 0) *number = 1;
    if (!(*number >= 1e-3 && *number <= 1e3)) return KeyFault(key, "must be from 0.001 to 1000");
  }
  return absl::OkStatus();
}

absl::Status CheckClasses(const OutputMeaning& meaning, std::size_t outputs) {
  if (meaning.classes.size() != outputs || outputs < 2 || outputs > 256) {
    return KeyFault("classes", fmt::format("{} names for {} outputs; 2 to 256 of each are taken",
                                           meaning.classes.size(), outputs));
  }
  std::set<std::string_view> different;
  for (const std::string& name : meaning.classes) {
    const bool plain =
        !name.empty() && name.size() <= kMaxClassName &&
        std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (!plain || !different.insert(name).second) {
      return KeyFault("classes", "must be different names of 1 to 128 bytes without control characters");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMeaning(const GraphModel& model) {
  switch (model.meaning.kind) {
    case OutputKind::kUnknown:
      return KeyFault("kind",
                      fmt::format("say what the outputs are, one of {}, here or in the file's metadata "
                                  "as \"tributary.outputs\"",
                                  fmt::join(kOutputKindNames, ", ")));
    case OutputKind::kLogits:
    case OutputKind::kProbabilities:
      return CheckClasses(model.meaning, model.outputs);
    case OutputKind::kCholesky:
    case OutputKind::kLogDeviation:
      break;
  }
  const std::size_t expected = model.meaning.kind == OutputKind::kCholesky ? 5 : 4;
  if (model.outputs != expected) {
    return KeyFault("kind", fmt::format("the output has {} elements for a subject; a position has {} so",
                                        model.outputs, expected));
  }
  return model.meaning.classes.empty() ? absl::OkStatus() : KeyFault("classes", "a position has none");
}

absl::StatusOr<std::size_t> FindOutput(const std::vector<PortReport>& outputs, const std::string& name) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == name || (name.empty() && outputs.size() == 1)) return i;
    names.push_back(outputs[i].name);
  }
  return KeyFault("output", fmt::format("the graph has {}", fmt::join(names, ", ")));
}

}  // namespace

absl::StatusOr<GraphModel> DecodeGraphModel(std::string file, const OutputMeaning& meaning) {
  GraphModel model;
  ASSIGN_OR_RETURN(const auto session, Session::Load(file, {.memory_bytes = kModelMemoryBytes}));
  const std::vector<PortReport> inputs = session->inputs(), outputs = session->outputs();
  if (inputs.size() != 1) {
    return absl::InvalidArgumentError(fmt::format("the graph has {} inputs; one is taken", inputs.size()));
  }
  const Spec& input = inputs[0].spec;
  if (input.type != ElementType::kFloat32 && input.type != ElementType::kUint8) {
    return absl::InvalidArgumentError(
        fmt::format("the input is {}; float32 and uint8 are taken", input.Text()));
  }
  if (!input.shape.empty() && input.shape[0] != 1) {
    return absl::InvalidArgumentError(
        fmt::format("the input is {} for {} subjects at once; leave the first dimension open, or make it 1",
                    input.Text(), input.shape[0]));
  }
  model.meaning = meaning;
  ASSIGN_OR_RETURN(model.output_index, FindOutput(outputs, meaning.output));
  const Spec& output = outputs[model.output_index].spec;
  if (output.type != ElementType::kFloat32) return KeyFault("output", "is no float32");
  model.inputs = static_cast<std::size_t>(input.elements());
  model.outputs = static_cast<std::size_t>(output.elements());
  if (model.inputs == 0) return absl::InvalidArgumentError("the input has no element");
  RETURN_IF_ERROR(TakeFromFile(*session, model.meaning));
  RETURN_IF_ERROR(CheckMeaning(model));
  model.name = "onnx";
  model.sha256 = parameters::HexOf(parameters::DigestOf(file));
  model.file = std::move(file);
  return model;
}

absl::StatusOr<std::unique_ptr<Session>> OpenSession(const GraphModel& model,
                                                     const SectionTarget* accelerator) {
  return Session::Load(model.file, {.memory_bytes = kModelMemoryBytes, .accelerator = accelerator});
}

}  // namespace tributary::graph
