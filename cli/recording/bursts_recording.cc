// `tributary recording bursts`: labelled bursts of a simulated radio, for nodes that learn and commands that
// judge.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/train/burst_set.h"
#include "cli/train/radio_domain.h"
#include "core/parameters/npy.h"
#include "core/radio/modulation.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

struct BurstsArguments {
  RadioDomain domain = RadioDomain::kForeign;
  std::size_t bursts_per_class = 200;
  std::uint64_t seed = 1;
  std::string out = ".";
  bool json = false;
};

absl::Status WriteBursts(const BurstsArguments& arguments) {
  const std::filesystem::path folder(arguments.out);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return absl::ErrnoToStatus(
        failed.value(), fmt::format("{}: cannot create the folder", runtime::Printable(arguments.out)));
  }
  const std::string iq = folder / "bursts.npy", labels = folder / "labels.txt";
  RETURN_IF_ERROR(CheckOutput(iq, {}));
  RETURN_IF_ERROR(CheckOutput(labels, {}));
  ASSIGN_OR_RETURN(const BurstSet set, BurstSet::Create(BurstOptionsOf(arguments.domain), std::nullopt,
                                                        arguments.seed, BurstPurpose::kTraining));
  const recordings::LabelledBursts bursts = set.DrawOfEach(arguments.bursts_per_class);
  std::string names;
  for (const std::uint8_t modulation : bursts.classes) {
    names.append(radio::kModulations[modulation]).push_back('\n');
  }
  const std::vector<std::uint64_t> shape = {bursts.count(), 2, radio::kBurstSamples};
  RETURN_IF_ERROR(WriteOutput(iq, parameters::EncodeNpy(shape, bursts.bursts)));
  RETURN_IF_ERROR(WriteOutput(labels, names));
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"iq", iq}, {"labels", labels}, {"bursts", bursts.count()}}.dump()
              << "\n";
  } else {
    std::cout << fmt::format("{} written to {}, their modulations to {}\n",
                             runtime::Counted(bursts.count(), "burst"), runtime::Printable(iq),
                             runtime::Printable(labels));
  }
  return absl::OkStatus();
}

}  // namespace

void AddRecordingBurstsCommand(Commands& recording) {
  auto [command, arguments] = recording.Add<BurstsArguments>(
      "bursts",
      "Draw labelled bursts of a simulated radio, from which a node learns ([federation.modulation])",
      WriteBursts);
  command.Choice("--domain", arguments.domain, RadioDomainWords(),
                 "Radio: that of the shipped model, or another");
  command.Number("--bursts-per-class", arguments.bursts_per_class, "N", "Bursts of each modulation",
                 {1, 100'000});
  command.Number("--seed", arguments.seed, "N", "Other bursts with every seed");
  command.Text("--out", arguments.out, "DIR", "Folder for bursts.npy and labels.txt");
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n  tributary recording bursts --seed 3 --out south\n"
      "  tributary train modulation --from models/modulation.safetensors --iq south/bursts.npy --labels "
      "south/labels.txt --out south.safetensors");
}

}  // namespace tributary::cli
