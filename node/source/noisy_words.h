// Adds stored noise to stored channel words, and scales them to features. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary::source {

// features[i] = (channel[i] + noise[i]) · step, i < count, with a saturating sum.
void AddNoise(const std::int16_t* channel, const std::int16_t* noise, std::size_t count, float step,
              float* features);

}  // namespace tributary::source
