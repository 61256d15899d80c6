#include <cstdint>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/train/beacon_recording.h"
#include "core/nn/beacon/federated_beacon.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/survey/survey_file.h"

namespace tributary::cli {
namespace {

struct BeaconStartArguments {
  std::string survey;
  std::string anchors = "1,4,6";
  int tag = 0;
  std::uint64_t seed = 1;
  bool second_order = false;
  std::string out = "start.safetensors";
};

absl::Status WriteBeaconStart(const BeaconStartArguments& arguments) {
  ASSIGN_OR_RETURN(const scene::Survey survey, survey::ReadSurvey(arguments.survey));
  ASSIGN_OR_RETURN(const auto anchors,
                   ParseAnchors(arguments.anchors, static_cast<int>(survey.anchors_m.size())));
  ASSIGN_OR_RETURN(const auto tags,
                   ParseNumbers(absl::StrCat(arguments.tag), "tag", static_cast<int>(survey.tags_m.size())));
  RETURN_IF_ERROR(CheckOutput(arguments.out, {arguments.survey}));
  nn::FederatedBeacon beacon{.network = recordings::StartBeaconIn(survey, arguments.seed),
                             .second_order = arguments.second_order};
  beacon.network.anchors = anchors;
  beacon.network.tag = arguments.tag;
  beacon.network.name = absl::StrCat("beacon-", absl::StrJoin(anchors, "-"));
  beacon.network.version = "0";
  const std::string file = nn::EncodeFederatedBeacon(beacon);
  RETURN_IF_ERROR(WriteOutput(arguments.out, file));
  std::cout << absl::StrFormat("%s: %d bytes, anchors %s, tag %d\n", runtime::Printable(arguments.out),
                               file.size(), absl::StrJoin(anchors, ","), arguments.tag);
  return absl::OkStatus();
}

}  // namespace

void AddTrainBeaconStartCommand(Commands& train) {
  auto [command, arguments] = train.Add<BeaconStartArguments>(
      "beacon-start",
      "Write an untrained beacon network, the model with which a federated run of boards begins",
      WriteBeaconStart);
  command.Text("--survey", arguments.survey, "FILE",
               "TOML with the hall's anchors and tags; the example recordings' hall if not given");
  command.Text("--anchors", arguments.anchors, "N,N,N", "Numbers of the boards' anchors");
  command.Number("--tag", arguments.tag, "N", "Number of the tag to locate",
                 {0, scene::Survey::kMaxTags - 1});
  command.Number("--seed", arguments.seed, "N", "Seed of the random parameters");
  command.Flag("--second-order", arguments.second_order, "For the strategy levenberg_marquardt");
  command.Text("--out", arguments.out, "FILE", "Model file to write");
  command.Examples(
      "Examples:\n  tributary train beacon-start --second-order --out start.safetensors\n  tributary train "
      "beacon-start --anchors 0,2,4 --seed 7 --out fedavg.safetensors");
}

}  // namespace tributary::cli
