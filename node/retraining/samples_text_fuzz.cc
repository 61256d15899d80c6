// Any bytes as labelled ranges, and whatever they are as what a network learns from.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/nn/beacon/continual_beacon.h"
#include "node/retraining/samples_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto samples = retraining::ParseSamples(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!samples.ok()) return 0;
  nn::BeaconNetwork network;
  network.input_gain_per_m = {0.1, 0.1, 0.1};
  network.residual_deviation_m = 0.1;
  network.parameter_factor.assign(nn::BeaconNetwork::kParameters * nn::BeaconNetwork::kParameters, 0);
  nn::ContinualBeacon beacon(network, 1.0 / 256);
  int trainings = 2;  // one takes as long as thousands of samples
  for (const nn::BeaconExample& sample : *samples) {
    const auto verdict = beacon.Take(sample);
    if (verdict.ok() && verdict->training_due && trainings-- > 0) (void)beacon.Train({});
    if (!(beacon.deviation_scale() >= 1) || beacon.kept_samples() > nn::ContinualBeacon::kMostSamples) {
      std::abort();
    }
  }
  return 0;
}
