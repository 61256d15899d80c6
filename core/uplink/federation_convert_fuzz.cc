// Any bytes as a task: taken or refused, never a fault; what is taken lies within its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/uplink/federation_convert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tributary::v1::ParticipateResponse response;
  if (!response.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  const auto task = tributary::TaskFromWire(response);
  if (!task.ok()) return 0;
  const auto* train = std::get_if<tributary::TrainTask>(&*task);
  if (train == nullptr) return 0;
  if (train->model_bytes > tributary::kMaxModelBytes || train->element_count > tributary::kMaxElements)
    std::abort();
  if (!(train->settings.learning_rate >= 0)) std::abort();
  return 0;
}
