#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/commands.h"
#include "cli/evaluate/beacon_evaluation.h"
#include "cli/failure.h"
#include "cli/train/beacon_recording.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/beacon/beacon_trainer.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

struct TrainBeaconArguments {
  std::string ranges;
  std::string truth;
  std::string anchors = "1,4,6";
  int tag = 0;
  std::string out = "beacon.safetensors";
  std::string name;
  std::string version = "1";
  RecordingPart part = {.start = 0.0, .end = 0.5};
  nn::BeaconTrainingOptions training;
  bool json = false;
};

// One line that is overwritten on a terminal, one line per run elsewhere.
void PrintRun(const nn::BeaconTrainingProgress& progress) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%srun %d/%d  %3d epochs  held-out error %.4f m per coordinate (best %.4f)%s",
               terminal ? "\r" : "", progress.run, progress.runs, progress.epochs, progress.held_out_rms_m,
               progress.best_held_out_rms_m, terminal && progress.run < progress.runs ? "" : "\n");
}

// The longer of what lies before and behind the part that was trained on; the whole recording if nothing
// does.
RecordingPart UnseenPart(const RecordingPart& part) {
  if (part.start == 0.0 && part.end == 1.0) return part;
  return part.start > 1.0 - part.end ? RecordingPart{.start = 0.0, .end = part.start}
                                     : RecordingPart{.start = part.end, .end = 1.0};
}

absl::Status Train(const TrainBeaconArguments& arguments) {
  RETURN_IF_ERROR(CheckPart(arguments.part));
  RETURN_IF_ERROR(CheckOutput(arguments.out, {arguments.ranges, arguments.truth}));
  ASSIGN_OR_RETURN(const auto anchors, ParseAnchors(arguments.anchors));
  ASSIGN_OR_RETURN(const auto recording, BeaconRecording::Load(arguments.ranges, arguments.truth));
  const auto examples = recording.Examples(anchors, arguments.tag, arguments.part);
  ASSIGN_OR_RETURN(auto network, TrainBeacon(examples, arguments.training));
  network.anchors = anchors;
  network.tag = arguments.tag;
  network.name = arguments.name.empty()
                     ? absl::StrCat("beacon-", absl::StrReplaceAll(arguments.anchors, {{",", "-"}}))
                     : arguments.name;
  network.version = arguments.version;
  network.training_set =
      absl::StrFormat("%s from %.3f to %.3f of its time, %d samples, seed %d",
                      arguments.ranges.substr(arguments.ranges.rfind('/') + 1), arguments.part.start,
                      arguments.part.end, examples.size(), arguments.training.seed);
  const std::string file = nn::EncodeBeacon(network);
  // Gives the identity, and checks what is about to be written.
  ASSIGN_OR_RETURN(const auto written, nn::DecodeBeacon(file));
  RETURN_IF_ERROR(WriteOutput(arguments.out, file));

  ASSIGN_OR_RETURN(const auto figures,
                   EvaluateBeacons({&written, 1}, recording, {.part = UnseenPart(arguments.part)}));
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"model", arguments.out},
                                        {"sha256", written.sha256},
                                        {"examples", examples.size()},
                                        {"residual_deviation_m", written.residual_deviation_m},
                                        {"unseen", ToJson(figures, {&written, 1})}}
                     .dump()
              << "\n";
  } else {
    std::cout << absl::StrFormat("%s: %d bytes, sha256 %s\n%s, held-out deviation %.3f m per coordinate\n\n",
                                 runtime::Printable(arguments.out), file.size(), written.sha256,
                                 runtime::Counted(examples.size(), "example"), written.residual_deviation_m)
              << "On the part of the recording that was not trained on:\n"
              << ToTable(figures, {&written, 1});
  }
  return absl::OkStatus();
}

}  // namespace

void AddTrainBeaconCommand(Commands& train) {
  auto [command, arguments] = train.Add<TrainBeaconArguments>(
      "beacon", "Train a 3-10-2 network that turns three ranges into a position", Train);
  arguments.training.progress = PrintRun;
  command.Text("--ranges", arguments.ranges, "FILE", "CSV of time and 24 ranges")->required();
  command.Text("--truth", arguments.truth, "FILE", "CSV of motion capture")->required();
  command.Text("--anchors", arguments.anchors, "N,N,N", "Numbers of the three anchors of the board");
  command.Number("--tag", arguments.tag, "N", "Number of the tag to locate", {0, scene::kTags - 1});
  command.Text("--out", arguments.out, "FILE", "Model file to write");
  command.Text("--name", arguments.name, "NAME", "Name of the model; beacon-<anchors> if not given");
  command.Text("--model-version", arguments.version, "VERSION", "Version of the model");
  command.Number("--from", arguments.part.start, "FRACTION",
                 "Start of the part to train on, as a fraction of time", {0, 1});
  command.Number("--to", arguments.part.end, "FRACTION", "End of that part", {0, 1});
  command.Number("--runs", arguments.training.runs, "N",
                 "Number of random starts; the best one on held-out data is kept", {1, 1000});
  command.Number("--seed", arguments.training.seed, "N", "Seed of the random starts");
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary train beacon --ranges ranges.csv --truth truth.csv --anchors 1,4,6 --out "
      "beacon-1-4-6.safetensors");
}

}  // namespace tributary::cli
