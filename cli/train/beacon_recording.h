// Recorded ranges with their truth, as training examples and for evaluation.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_trainer.h"
#include "core/scene/recording.h"

namespace tributary::cli {

// A part of a recording by time: 0 ≤ start < end ≤ 1.
struct RecordingPart {
  double start = 0.0;
  double end = 1.0;
};

// UsageError: it has no length.
absl::Status CheckPart(const RecordingPart& part);

struct BeaconRecording {
  // Reads both files. Errors: as ReadFile and the parsers, naming the file.
  static absl::StatusOr<BeaconRecording> Load(const std::string& ranges_path, const std::string& truth_path);

  // One row with all its ranges of the tag and the tag's true position.
  struct Sample {
    const scene::RangeRow* row;
    scene::Point3 truth_m;
  };

  // Rows of the part in which each of these anchors has a range to the tag and motion capture knows where it
  // was.
  std::vector<Sample> Samples(std::span<const int> anchors, int tag, const RecordingPart& part) const;

  std::vector<nn::BeaconExample> Examples(const std::array<int, 3>& anchors, int tag,
                                          const RecordingPart& part) const;

  std::vector<scene::RangeRow> rows;
  scene::MotionCapture motion;
};

// "1,4,6" to three distinct anchors. Errors: InvalidArgument.
absl::StatusOr<std::array<int, 3>> ParseAnchors(const std::string& text);

}  // namespace tributary::cli
