// Any settings of a task are refused with a message, or lie within the training's limits and come back from
// the run file that an aggregator between writes of them.
#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "core/learning/run_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  v1::ClientSettings settings;
  if (!settings.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  v1::ClientSettings masked = settings;
  (void)learning::AdoptFromTask(masked, true);
  if (const absl::Status adopted = learning::AdoptFromTask(settings, false); !adopted.ok()) {
    if (adopted.message().empty()) std::abort();
    return 0;
  }
  const Faults faults = learning::FaultsOf(settings, learning::ClientLimits::kTraining);
  if (faults.begin() != faults.end()) std::abort();
  const std::string file =
      "name = \"fuzz\"\nrounds = 1\nmin_nodes = 2\n\n" + learning::ClientSectionOf(settings);
  const auto config = learning::ParseRunConfig(file, "fuzz", learning::ClientLimits::kStored);
  if (!config.ok()) return 0;  // a run trains with more than a task must have
  v1::ClientSettings read = config->client;
  for (v1::ClientSettings* each : {&settings, &read}) {
    each->clear_clip_norm();       // stands elsewhere
    each->clear_schedule_steps();  // follows from the rounds
  }
  if (!google::protobuf::util::MessageDifferencer::Equals(settings, read)) std::abort();
  return 0;
}
