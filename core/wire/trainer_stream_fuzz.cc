// Any bytes as a program's answers are taken or refused, without a crash; what is done is whole and finite.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/wire/trainer_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // Messages, each behind its length in two bytes.
  std::array<float, 40> values = {};
  tributary::wire::TrainedParameters trained(values);
  while (size >= 2) {
    const std::size_t length = std::min<std::size_t>(bytes[0] | bytes[1] << 8, size - 2);
    tributary::v1::TrainResponse response;
    if (!response.ParseFromArray(bytes + 2, static_cast<int>(length))) return 0;
    if (!trained.Take(response).ok()) return 0;
    bytes += 2 + length;
    size -= 2 + length;
  }
  if (!trained.done()) return 0;
  for (const float value : values) {
    if (!std::isfinite(value)) std::abort();
  }
  return 0;
}
