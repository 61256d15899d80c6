// When an emitter sends with which modulation, and how strongly it is heard. Pure; any thread.
#pragma once

#include <cstdint>

#include "core/radio/modulation.h"

namespace tributary::radio {

struct EmitterOptions {
  std::uint64_t seed = 1;
  std::uint32_t frames_per_emission = 2000;  // then it changes modulation and ratio; at least 1
  double lowest_snr_db = 0;                  // uniform between these two
  double highest_snr_db = 18;
};

struct Emission {
  Modulation modulation;
  double snr_db;
};

// Depends on the arguments alone, so that every receiver and every test knows the truth. Emitters change at
// different frames.
Emission EmissionAt(const EmitterOptions& options, std::uint32_t emitter, std::uint64_t frame);

// The index of the emitter's burst in a frame, for BurstGenerator.
std::uint64_t BurstIndex(std::uint32_t emitter, std::uint64_t frame);

}  // namespace tributary::radio
