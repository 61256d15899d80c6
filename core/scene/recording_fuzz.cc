// Any bytes as a recording of ranges and as one of motion capture.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/scene/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::scene;
  const std::string_view csv(reinterpret_cast<const char*>(data), size);
  Survey survey;
  survey.anchors_m.resize(2);
  survey.tags_m.resize(2);
  if (size % 2 == 1) survey.order = Survey::Order::kTags;
  if (size % 2 == 1) survey.quaternion = Survey::Quaternion::kXyzw;
  if (const auto recording = ParseRanges(csv, survey); recording.ok()) {
    (void)recording->Range(recording->RowAtFraction(0.5), 1, 1);
  }
  if (const auto capture = MotionCapture::Parse(csv, survey); capture.ok()) {
    (void)capture->At(capture->first_unix_ns(), {0.1, 0.2, 0.3});
    (void)capture->At(capture->last_unix_ns() - 1, {0.1, 0.2, 0.3});
  }
  return 0;
}
