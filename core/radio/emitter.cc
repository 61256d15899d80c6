#include "core/radio/emitter.h"

#include <cstddef>

#include "core/radio/draws.h"
#include "core/scene/gaussian_noise.h"

namespace tributary::radio {

Emission EmissionAt(const EmitterOptions& options, std::uint32_t emitter, std::uint64_t frame) {
  const std::uint64_t key = scene::MixBits(options.seed, emitter);
  const std::uint64_t phase = key % options.frames_per_emission;
  Draws draws(scene::MixBits(key, (frame + phase) / options.frames_per_emission));
  const auto modulation = static_cast<Modulation>(
      static_cast<std::size_t>(draws.Uniform() * static_cast<double>(kModulations.size())));
  return {modulation, draws.Between(options.lowest_snr_db, options.highest_snr_db)};
}

std::uint64_t BurstIndex(std::uint32_t emitter, std::uint64_t frame) {
  return scene::MixBits(emitter, frame);
}

}  // namespace tributary::radio
