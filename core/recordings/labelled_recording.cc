#include "core/recordings/labelled_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "core/radio/modulation.h"
#include "core/recordings/burst_file.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::recordings {
namespace {

constexpr std::size_t kMaxLabelBytes = std::size_t{1} << 30;
constexpr std::size_t kShownOfALabel = 40;

}  // namespace

absl::StatusOr<std::vector<std::uint8_t>> ParseLabels(std::string_view text) {
  const absl::string_view content =
      absl::StripTrailingAsciiWhitespace(absl::string_view(text.data(), text.size()));
  std::vector<std::uint8_t> labels;
  if (content.empty()) return labels;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    const absl::string_view name = absl::StripAsciiWhitespace(line);
    const auto found = std::ranges::find_if(radio::kModulations, [&](std::string_view modulation) {
      return absl::EqualsIgnoreCase(name, absl::string_view(modulation.data(), modulation.size()));
    });
    if (found == radio::kModulations.end()) {
      return absl::InvalidArgumentError(
          fmt::format("line {}: \"{}\" is none of {}", labels.size() + 1,
                      runtime::Printable(std::string(name.substr(0, kShownOfALabel))),
                      fmt::join(radio::kModulations, ", ")));
    }
    labels.push_back(static_cast<std::uint8_t>(found - radio::kModulations.begin()));
  }
  return labels;
}

absl::StatusOr<LabelledBursts> ReadLabelledRecording(const std::string& iq, const std::string& labels) {
  LabelledBursts recording;
  ASSIGN_OR_RETURN(const std::string text, runtime::ReadFile(labels, kMaxLabelBytes));
  ASSIGN_OR_RETURN(recording.classes, WithContext(labels, ParseLabels(text)));
  ASSIGN_OR_RETURN(parameters::NpyArray bursts, ReadBursts(iq));
  recording.bursts = std::move(bursts.values);
  if (recording.classes.size() != bursts.shape[0]) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} labels for {} bursts", labels, recording.classes.size(), bursts.shape[0]));
  }
  return recording;
}

}  // namespace tributary::recordings
