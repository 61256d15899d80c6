#include "core/recordings/beacon_recording.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/nn/beacon/federated_beacon.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/survey/survey_file.h"

namespace tributary::recordings {

absl::StatusOr<BeaconRecording> BeaconRecording::Load(const Files& files) {
  ASSIGN_OR_RETURN(auto survey, survey::ReadSurvey(files.survey));
  ASSIGN_OR_RETURN(const auto ranges_csv, runtime::ReadFile(files.ranges));
  ASSIGN_OR_RETURN(auto ranges, WithContext(files.ranges, scene::ParseRanges(ranges_csv, survey)));
  ASSIGN_OR_RETURN(const auto truth_csv, runtime::ReadFile(files.truth));
  ASSIGN_OR_RETURN(auto motion, WithContext(files.truth, scene::MotionCapture::Parse(truth_csv, survey)));
  return BeaconRecording{std::move(survey), std::move(ranges), std::move(motion)};
}

namespace {

// Whether a true position is at the place; the border is the median over the recording's whole time.
class PlaceFilter {
 public:
  PlaceFilter(const BeaconRecording& recording, int tag, RecordingPlace place) : place_(place) {
    if (place == RecordingPlace::kAll) return;
    axis_ = place == RecordingPlace::kWest || place == RecordingPlace::kEast ? 0 : 1;
    std::vector<double> values;
    for (std::size_t i = 0; i < recording.ranges.size(); ++i) {
      const auto truth = recording.motion.At(recording.ranges.unix_ns(i),
                                             recording.survey.tags_m[static_cast<std::size_t>(tag)]);
      if (truth) values.push_back((*truth)[axis_]);
    }
    if (values.empty()) return;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    border_m_ = *middle;
  }

  bool Admits(const scene::Point3& truth_m) const {
    if (place_ == RecordingPlace::kAll) return true;
    const bool low = place_ == RecordingPlace::kWest || place_ == RecordingPlace::kSouth;
    return (truth_m[axis_] < border_m_) == low;
  }

 private:
  const RecordingPlace place_;
  std::size_t axis_ = 0;
  double border_m_ = 0.0;
};

}  // namespace

std::vector<BeaconRecording::Sample> BeaconRecording::Samples(std::span<const int> anchors,
                                                              std::span<const int> tags, int tag,
                                                              const RecordingPart& part) const {
  const PlaceFilter place(*this, tag, part.place);
  std::vector<Sample> samples;
  const std::size_t end = ranges.RowAtFraction(part.end);
  for (std::size_t i = ranges.RowAtFraction(part.start); i < end; ++i) {
    const Sample row{.row = i, .truth_m = {}};
    const bool complete = std::ranges::all_of(anchors, [&](int anchor) {
      return std::ranges::all_of(tags, [&](int other) { return std::isfinite(Range(row, anchor, other)); });
    });
    if (!complete) continue;
    const auto truth = motion.At(ranges.unix_ns(i), survey.tags_m[static_cast<std::size_t>(tag)]);
    if (truth && place.Admits(*truth)) samples.push_back({.row = i, .truth_m = *truth});
  }
  return samples;
}

nn::GeometrySurvey BeaconRecording::SurveyOf(const std::vector<int>& anchors, const std::vector<int>& tags,
                                             int tag) const {
  nn::GeometrySurvey board{.anchors = anchors, .tags = tags, .tag = tag, .anchors_m = {}, .tags_m = {}};
  for (const int anchor : anchors) board.anchors_m.push_back(AnchorM(anchor));
  for (const int other : tags) board.tags_m.push_back(survey.tags_m[static_cast<std::size_t>(other)]);
  return board;
}

std::vector<nn::GeometryExample> BeaconRecording::Examples(const nn::GeometrySurvey& board,
                                                           const RecordingPart& part) const {
  std::vector<nn::GeometryExample> examples;
  for (const Sample& sample : Samples({}, {}, board.tag, part)) {
    nn::GeometryExample example{.unix_ns = ranges.unix_ns(sample.row), .ranges_m = {}, .tags_m = {}};
    for (const int anchor : board.anchors) {
      for (const int tag : board.tags) example.ranges_m.push_back(Range(sample, anchor, tag));
    }
    for (const scene::Point3& tag : board.tags_m) {
      if (const auto truth = motion.At(example.unix_ns, tag)) example.tags_m.push_back(*truth);
    }
    if (example.tags_m.size() == board.tags.size()) examples.push_back(std::move(example));
  }
  return examples;
}

std::vector<nn::BeaconExample> BeaconRecording::Examples(const std::array<int, 3>& anchors, int tag,
                                                         const RecordingPart& part) const {
  std::vector<nn::BeaconExample> examples;
  for (const Sample& sample : Samples(anchors, tag, part)) {
    nn::BeaconExample example{.unix_ns = ranges.unix_ns(sample.row),
                              .ranges_m = {},
                              .position_m = {sample.truth_m[0], sample.truth_m[1]}};
    for (std::size_t i = 0; i < anchors.size(); ++i) example.ranges_m[i] = Range(sample, anchors[i], tag);
    examples.push_back(example);
  }
  return examples;
}

nn::BeaconNetwork StartBeaconIn(const scene::Survey& survey, std::uint64_t seed) {
  scene::Point3 low = survey.anchors_m.front();
  scene::Point3 high = low;
  for (const scene::Point3& anchor : survey.anchors_m) {
    for (std::size_t i = 0; i < anchor.size(); ++i) {
      low[i] = std::min(low[i], anchor[i]);
      high[i] = std::max(high[i], anchor[i]);
    }
  }
  const double diagonal_m = std::hypot(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
  return nn::StartBeacon(seed, diagonal_m, {low[0], low[1]}, {high[0], high[1]});
}

}  // namespace tributary::recordings
