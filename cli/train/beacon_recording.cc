#include "cli/train/beacon_recording.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/failure.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "node/source/ranges.h"

namespace tributary::cli {
absl::Status CheckPart(const RecordingPart& part) {
  if (part.start < part.end) return absl::OkStatus();
  return UsageError(absl::StrCat("--from ", part.start, " must be below --to ", part.end));
}

absl::StatusOr<BeaconRecording> BeaconRecording::Load(const std::string& ranges_path,
                                                      const std::string& truth_path) {
  ASSIGN_OR_RETURN(const auto ranges_csv, runtime::ReadFile(ranges_path));
  ASSIGN_OR_RETURN(auto rows, WithContext(ranges_path, scene::ParseRanges(ranges_csv)));
  ASSIGN_OR_RETURN(const auto truth_csv, runtime::ReadFile(truth_path));
  ASSIGN_OR_RETURN(auto motion, WithContext(truth_path, scene::MotionCapture::Parse(truth_csv)));
  return BeaconRecording{std::move(rows), std::move(motion)};
}

std::vector<BeaconRecording::Sample> BeaconRecording::Samples(std::span<const int> anchors, int tag,
                                                              const RecordingPart& part) const {
  std::vector<Sample> samples;
  const std::size_t end = source::RowAtFraction(rows, part.end);
  for (std::size_t i = source::RowAtFraction(rows, part.start); i < end; ++i) {
    const scene::RangeRow& row = rows[i];
    if (!std::ranges::all_of(anchors, [&](int anchor) { return std::isfinite(row.Range(anchor, tag)); }))
      continue;
    if (const auto truth = motion.At(row.unix_ns, scene::kTagPositionsM[static_cast<std::size_t>(tag)])) {
      samples.push_back({.row = &row, .truth_m = *truth});
    }
  }
  return samples;
}

std::vector<nn::BeaconExample> BeaconRecording::Examples(const std::array<int, 3>& anchors, int tag,
                                                         const RecordingPart& part) const {
  std::vector<nn::BeaconExample> examples;
  for (const Sample& sample : Samples(anchors, tag, part)) {
    nn::BeaconExample example{
        .unix_ns = sample.row->unix_ns, .ranges_m = {}, .position_m = {sample.truth_m[0], sample.truth_m[1]}};
    for (std::size_t i = 0; i < anchors.size(); ++i) example.ranges_m[i] = sample.row->Range(anchors[i], tag);
    examples.push_back(example);
  }
  return examples;
}

absl::StatusOr<std::array<int, 3>> ParseAnchors(const std::string& text) {
  const std::vector<std::string> names = absl::StrSplit(text, ',');
  std::array<int, 3> anchors = {-1, -1, -1};
  bool valid = names.size() == anchors.size();
  for (std::size_t i = 0; valid && i < anchors.size(); ++i) {
    valid = absl::SimpleAtoi(names[i], &anchors[i]) && anchors[i] >= 0 && anchors[i] < scene::kAnchors &&
            std::count(anchors.begin(), anchors.end(), anchors[i]) == 1;
  }
  if (!valid) {
    return UsageError(absl::StrCat("anchors \"", text, "\": three different ones of 0 to ",
                                   scene::kAnchors - 1, " are expected, as 1,4,6"));
  }
  return anchors;
}

}  // namespace tributary::cli
