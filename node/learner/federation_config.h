// [federation]: what a node learns from, and with whom.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "core/images/image_set.h"
#include "core/images/split.h"
#include "core/recordings/beacon_recording.h"
#include "core/recordings/labelled_bursts.h"
#include "node/accelerator/create.h"
#include "node/learner/beacon_trainer.h"
#include "node/learner/external_trainer.h"
#include "node/learner/positioning_trainer.h"
#include "node/workload/workload.h"

namespace tributary::learner {

// Recorded ranges to train a beacon network on.
struct BeaconSamplesConfig {
  recordings::BeaconRecording::Files files;
  std::array<int, nn::BeaconNetwork::kInputs> anchors = {1, 4, 6};
  int tag = 0;
  recordings::RecordingPart part;
};

// Recorded bursts to train a modulation network on.
struct BurstSamplesConfig {
  std::string iq, labels;
};

// Recorded snapshots of a panel to train a positioning network on, and the panel's pose.
struct PointSamplesConfig {
  std::string features, positions;
  workload::PanelPose pose;
};

struct FederationConfig {
  std::string aggregator;
  std::string run;                                // empty: the run that is active, or the next to start
  std::optional<ExternalTrainerOptions> trainer;  // what trains; none: the images below do
  std::optional<BeaconSamplesConfig> beacon;      // what a beacon network trains on, instead of images
  std::optional<BurstSamplesConfig> modulation;   // what a modulation network trains on, instead of images
  std::optional<PointSamplesConfig> positioning;  // what a positioning network trains on, instead of images
  std::optional<accelerator::XrtOptions> board;   // that computes parts of an encoder's training
  std::string images;                             // an idx file, a folder of pictures, or "glyphs"
  std::string labels;                             // for splits and classifiers; they stay here
  bool classifier = false;                        // learns from labels, in runs of that workload
  double held_out = 0.2;                          // part of labelled images or bursts to judge by
  nn::ImageShape fitted = {28, 1};                // what the pictures of a folder become
  std::size_t glyphs = 7000;                      // how many, where images are "glyphs"
  images::ImageSplitOptions split;                // of the set over `split.nodes` nodes
  std::size_t shard = 0;                          // which part is this node's
  std::string state;                              // file that keeps what a restart must not lose; empty: none
  std::size_t buffer = 0;                         // most novel images to learn from again; 0: all
  std::uint64_t memory_bytes = 0;                 // for training; 0: what the process may still take
};

// `default_aggregator`: the uplink's.
FederationConfig ReadFederation(const config::ConfigSection& section, const std::string& default_aggregator);

// This node's part of the set, and nothing else of it. Errors: as ReadImageFiles and SplitImages, naming the
// file.
absl::StatusOr<images::ImageSet> LoadPart(const FederationConfig& config);

// Errors: as BeaconRecording::Load; InvalidArgument for an anchor or a tag that the survey lacks, and for a
// part without a row that has all ranges and a true position.
absl::StatusOr<BeaconExamples> LoadExamples(const BeaconSamplesConfig& config);

// Errors: as recordings::ReadLabelledRecording; InvalidArgument for a recording without bursts.
absl::StatusOr<recordings::LabelledBursts> LoadBursts(const BurstSamplesConfig& config);

// Errors: those of the files, naming them; InvalidArgument for an array of another shape, another number of
// positions, features that are not finite, and no point.
absl::StatusOr<PanelPoints> LoadPoints(const PointSamplesConfig& config);

}  // namespace tributary::learner
