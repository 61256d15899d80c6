#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/evaluate/beacon_evaluation.h"
#include "cli/evaluate/beacon_model.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/train/beacon_recording.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/beacon/beacon_trainer.h"
#include "core/nn/beacon/federated_beacon.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

enum class Estimator { kNetwork, kGeometry };

struct TrainBeaconArguments {
  ConnectionArguments connection;
  std::string network;
  BeaconRecording::Files files;
  Estimator estimator = Estimator::kNetwork;
  std::string anchors;
  std::string tags;
  int tag = 0;
  std::string out = "beacon.safetensors";
  std::string name;
  std::string version = "1";
  RecordingPart part = {.start = 0.0, .end = 0.5};
  nn::BeaconTrainingOptions training;
  nn::GeometryOptions geometry;
  bool json = false;
};

// One line that is overwritten on a terminal, one line per run elsewhere.
void PrintRun(const nn::BeaconTrainingProgress& progress) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%srun %d/%d  %3d epochs  held-out error %.4f m per coordinate (best %.4f)%s",
               terminal ? "\r" : "", progress.run, progress.runs, progress.epochs, progress.held_out_rms_m,
               progress.best_held_out_rms_m, terminal && progress.run < progress.runs ? "" : "\n");
}

bool IsWhole(const RecordingPart& part) {
  return part.place == RecordingPlace::kAll && part.start == 0.0 && part.end == 1.0;
}

// The longer of what lies before and behind the part that was trained on, or the other half of the places;
// the whole recording if nothing does.
RecordingPart UnseenPart(const RecordingPart& part) {
  using enum RecordingPlace;
  switch (part.place) {
    case kWest:
      return {.place = kEast};
    case kEast:
      return {.place = kWest};
    case kSouth:
      return {.place = kNorth};
    case kNorth:
      return {.place = kSouth};
    case kAll:
      break;
  }
  if (IsWhole(part)) return part;
  return part.start > 1.0 - part.end ? RecordingPart{.start = 0.0, .end = part.start}
                                     : RecordingPart{.start = part.end, .end = 1.0};
}

const char* WhatIsEvaluated(const TrainBeaconArguments& arguments) {
  if (IsWhole(arguments.part)) return "On the whole recording, from which it was made";
  // Boards may have trained on it.
  if (!arguments.network.empty()) return "On the rest of the recording";
  return "On the part of the recording that was not trained on";
}

struct TrainedBeacon {
  BeaconModel model;
  std::size_t examples;
};

absl::StatusOr<TrainedBeacon> TrainNetwork(const TrainBeaconArguments& arguments,
                                           const BeaconRecording& recording) {
  if (!arguments.tags.empty()) return UsageError("--tags is for --estimator geometry");
  ASSIGN_OR_RETURN(const auto anchors, ParseAnchors(arguments.anchors.empty() ? "1,4,6" : arguments.anchors,
                                                    recording.anchors()));
  const auto examples = recording.Examples(anchors, arguments.tag, arguments.part);
  ASSIGN_OR_RETURN(nn::BeaconNetwork network, TrainBeacon(examples, arguments.training));
  network.anchors = anchors;
  network.tag = arguments.tag;
  return TrainedBeacon{std::move(network), examples.size()};
}

// The network of a run, as it is: what is fitted is how sure it is.
absl::StatusOr<TrainedBeacon> CalibrateNetwork(const TrainBeaconArguments& arguments,
                                               const BeaconRecording& recording) {
  ASSIGN_OR_RETURN(const ModelFile file, ReadModelSource(arguments.network, arguments.connection));
  ASSIGN_OR_RETURN(const parameters::TensorSet set,
                   WithContext(arguments.network, parameters::DecodeSafetensors(file.bytes)));
  ASSIGN_OR_RETURN(nn::FederatedBeacon beacon,
                   WithContext(arguments.network, nn::FederatedBeaconFromTensors(set)));
  const auto examples = recording.Examples(beacon.network.anchors, beacon.network.tag, arguments.part);
  RETURN_IF_ERROR(nn::CalibrateBeacon(examples, beacon.network));
  return TrainedBeacon{std::move(beacon.network), examples.size()};
}

absl::StatusOr<std::vector<int>> NumbersOrAll(const std::string& text, const char* what, int count) {
  if (!text.empty()) return ParseNumbers(text, what, count);
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

absl::StatusOr<TrainedBeacon> TrainGeometry(const TrainBeaconArguments& arguments,
                                            const BeaconRecording& recording) {
  ASSIGN_OR_RETURN(const auto anchors, NumbersOrAll(arguments.anchors, "anchors", recording.anchors()));
  ASSIGN_OR_RETURN(const auto tags, NumbersOrAll(arguments.tags, "tags", recording.tags()));
  const nn::GeometrySurvey board = recording.SurveyOf(anchors, tags, arguments.tag);
  const auto examples = recording.Examples(board, arguments.part);
  ASSIGN_OR_RETURN(nn::RangeGeometry geometry, nn::TrainGeometry(examples, board, arguments.geometry));
  return TrainedBeacon{std::move(geometry), examples.size()};
}

absl::Status Train(const TrainBeaconArguments& arguments) {
  RETURN_IF_ERROR(CheckPart(arguments.part));
  RETURN_IF_ERROR(
      CheckOutput(arguments.out, {arguments.files.ranges, arguments.files.truth, arguments.files.survey}));
  ASSIGN_OR_RETURN(const auto recording, BeaconRecording::Load(arguments.files));
  ASSIGN_OR_RETURN(const auto tags, ParseNumbers(absl::StrCat(arguments.tag), "tag", recording.tags()));
  const bool geometry = arguments.estimator == Estimator::kGeometry;
  if (!arguments.network.empty() && (geometry || !arguments.anchors.empty() || arguments.tag != 0)) {
    return UsageError(
        "--network is a network with anchors and a tag of its own: leave out --estimator, --anchors and "
        "--tag");
  }
  ASSIGN_OR_RETURN(TrainedBeacon trained, geometry ? TrainGeometry(arguments, recording)
                                          : !arguments.network.empty()
                                              ? CalibrateNetwork(arguments, recording)
                                              : TrainNetwork(arguments, recording));
  nn::Provenance& provenance = ProvenanceOf(trained.model);
  provenance.name = arguments.name.empty()
                        ? absl::StrCat("beacon-", absl::StrJoin(AnchorsOf(trained.model), "-"))
                        : arguments.name;
  provenance.version = arguments.version;
  provenance.training_set =
      absl::StrFormat("%s from %.3f to %.3f of its time, %d samples, seed %d",
                      arguments.files.ranges.substr(arguments.files.ranges.rfind('/') + 1),
                      arguments.part.start, arguments.part.end, trained.examples, arguments.training.seed);
  const std::string file = EncodeBeaconModel(trained.model);
  // Gives the identity, and checks what is about to be written.
  ASSIGN_OR_RETURN(const auto written, DecodeBeaconModel(file));
  RETURN_IF_ERROR(WriteOutput(arguments.out, file));

  ASSIGN_OR_RETURN(const auto figures,
                   EvaluateBeacons({&written, 1}, recording, {.part = UnseenPart(arguments.part)}));
  const std::string& sha256 = ProvenanceOf(written).sha256;
  const auto* network = std::get_if<nn::BeaconNetwork>(&written);
  if (arguments.json) {
    nlohmann::ordered_json json{{"model", arguments.out}, {"sha256", sha256}, {"examples", trained.examples}};
    if (network != nullptr) json["residual_deviation_m"] = network->residual_deviation_m;
    json[arguments.network.empty() ? "unseen" : "rest"] = ToJson(figures, {&written, 1});
    std::cout << json.dump() << "\n";
  } else {
    std::cout << absl::StrFormat("%s: %d bytes, sha256 %s\n%s", runtime::Printable(arguments.out),
                                 file.size(), sha256, runtime::Counted(trained.examples, "example"));
    if (network != nullptr)
      std::cout << absl::StrFormat(", held-out deviation %.3f m per coordinate",
                                   network->residual_deviation_m);
    std::cout << "\n\n" << WhatIsEvaluated(arguments) << ":\n" << ToTable(figures, {&written, 1});
  }
  return absl::OkStatus();
}

}  // namespace

void AddTrainBeaconCommand(Commands& train) {
  auto [command, arguments] = train.Add<TrainBeaconArguments>(
      "beacon", "Train a board that turns ranges into a position: a 3-10-2 network, or geometry with biases",
      Train);
  arguments.training.progress = PrintRun;
  AddRecordingOptions(command, arguments.files);
  command.Choice("--estimator", arguments.estimator,
                 {{"network", Estimator::kNetwork}, {"geometry", Estimator::kGeometry}},
                 "network: three ranges of one tag; geometry: any anchors and tags, with learned biases");
  command.Text("--anchors", arguments.anchors, "N,N,N",
               "Numbers of the board's anchors; by default 1,4,6 for a network, all for a geometry");
  command.Number("--tag", arguments.tag, "N", "Number of the tag to locate",
                 {0, scene::Survey::kMaxTags - 1});
  command.Text("--tags", arguments.tags, "N,N",
               "Tags of the same body whose ranges a geometry uses; by default all of the survey");
  command.Text(
      "--network", arguments.network, kModelSourceType,
      "A run's network: it stays as it is, and its uncertainty is fitted to a part of the recording on "
      "which no board has trained");
  command.Connection(arguments.connection);
  command.Text("--out", arguments.out, "FILE", "Model file to write");
  command.Text("--name", arguments.name, "NAME", "Name of the model; beacon-<anchors> if not given");
  command.Text("--model-version", arguments.version, "VERSION", "Version of the model");
  AddPartOptions(command, arguments.part, "train on");
  command.Number("--runs", arguments.training.runs, "N",
                 "Random starts of a network; the best one on held-out data is kept", {1, 1000});
  command.Number("--seed", arguments.training.seed, "N", "Seed of the random starts");
  command.Number("--anchor-prior", arguments.geometry.priors.anchor_m, "METRES",
                 "How well the anchors are surveyed, for a geometry: the deviation of each coordinate",
                 {1e-6, 10});
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n  tributary train beacon --ranges ranges.csv --truth truth.csv --anchors 1,4,6 --out "
      "beacon-1-4-6.safetensors\n  tributary train beacon --estimator geometry --ranges ranges.csv --truth "
      "truth.csv --anchors 0,2,4,6 --out even.safetensors\n  tributary train beacon --network "
      "run:levenberg_marquardt --ranges "
      "ranges.csv --truth truth.csv --from 0.5 --out board.safetensors");
}

}  // namespace tributary::cli
