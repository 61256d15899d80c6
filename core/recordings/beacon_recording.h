// Recorded ranges with their truth, as training examples and for evaluation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_trainer.h"
#include "core/nn/geometry/geometry_trainer.h"
#include "core/scene/recording.h"
#include "core/scene/survey.h"

namespace tributary::recordings {

// Half of a recording by where the tag truly was, split at the median of x or y over the whole recording.
enum class RecordingPlace { kAll, kWest, kEast, kSouth, kNorth };

// A part of a recording by time, 0 ≤ start < end ≤ 1, and of that the rows at a place.
struct RecordingPart {
  double start = 0.0;
  double end = 1.0;
  RecordingPlace place = RecordingPlace::kAll;
};

struct BeaconRecording {
  struct Files {
    std::string ranges;
    std::string truth;
    std::string survey;  // empty: that of the example recordings
  };
  // Reads the files. Errors: as ReadFile and the parsers, naming the file.
  static absl::StatusOr<BeaconRecording> Load(const Files& files);

  // One row with all its ranges of the tag and the tag's true position.
  struct Sample {
    std::size_t row;
    scene::Point3 truth_m;
  };

  // Rows of the part in which each of these anchors has a range to each of these tags, and in which motion
  // capture knows where `tag` was.
  std::vector<Sample> Samples(std::span<const int> anchors, std::span<const int> tags, int tag,
                              const RecordingPart& part) const;
  // With the ranges of `tag` alone.
  std::vector<Sample> Samples(std::span<const int> anchors, int tag, const RecordingPart& part) const {
    return Samples(anchors, {&tag, 1}, tag, part);
  }

  std::vector<nn::BeaconExample> Examples(const std::array<int, 3>& anchors, int tag,
                                          const RecordingPart& part) const;

  // What the survey says of a board with these anchors and tags.
  nn::GeometrySurvey SurveyOf(const std::vector<int>& anchors, const std::vector<int>& tags, int tag) const;
  // Rows in which motion capture knows where all the board's tags were. Ranges may be missing.
  std::vector<nn::GeometryExample> Examples(const nn::GeometrySurvey& board, const RecordingPart& part) const;

  float Range(const Sample& sample, int anchor, int tag) const {
    return ranges.Range(sample.row, static_cast<std::size_t>(anchor), static_cast<std::size_t>(tag));
  }
  const scene::Point3& AnchorM(int anchor) const {
    return survey.anchors_m[static_cast<std::size_t>(anchor)];
  }
  int anchors() const { return static_cast<int>(survey.anchors_m.size()); }
  int tags() const { return static_cast<int>(survey.tags_m.size()); }

  scene::Survey survey;
  scene::RangeRecording ranges;
  scene::MotionCapture motion;
};

// An untrained network for the box around all anchors: no position lies outside it, and no range is longer
// than its diagonal. The caller fills in anchors, tag and provenance.
nn::BeaconNetwork StartBeaconIn(const scene::Survey& survey, std::uint64_t seed);

}  // namespace tributary::recordings
