// Any bytes as a recording of ranges and as one of motion capture.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/scene/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view csv(reinterpret_cast<const char*>(data), size);
  (void)tributary::scene::ParseRanges(csv);
  if (const auto capture = tributary::scene::MotionCapture::Parse(csv); capture.ok()) {
    (void)capture->At(capture->first_unix_ns(), tributary::scene::kTagPositionsM[0]);
    (void)capture->At(capture->last_unix_ns() - 1, tributary::scene::kTagPositionsM[2]);
  }
  return 0;
}
