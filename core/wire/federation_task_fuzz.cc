// Any bytes as a task are taken or refused, without a crash. A taken task lies within its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/wire/federation_task.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tributary::v1::ParticipateResponse response;
  if (!response.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  const auto task = tributary::wire::TaskFromWire(response);
  if (!task.ok()) return 0;
  if (const auto* share = std::get_if<tributary::wire::ShareKeysTask>(&*task)) {
    if (!tributary::privacy::ValidateRoster(share->nodes, share->threshold).ok()) std::abort();
  }
  if (const auto* unmask = std::get_if<tributary::wire::UnmaskTask>(&*task)) {
    if (unmask->survivors.size() > tributary::privacy::kMaxMaskingNodes) std::abort();
    if (unmask->dropped.size() > tributary::privacy::kMaxMaskingNodes) std::abort();
  }
  const auto* train = std::get_if<tributary::wire::TrainTask>(&*task);
  if (train == nullptr) return 0;
  if (train->train.model_bytes() > tributary::wire::kMaxModelBytes ||
      train->train.element_count() > tributary::wire::kMaxElements)
    std::abort();
  if (!(train->train.settings().learning_rate() >= 0)) std::abort();
  if (!(train->fixed_point.bound > 0)) std::abort();
  const bool fixed = train->train.settings().encoding() == tributary::v1::UPDATE_ENCODING_FIXED32;
  if (fixed != train->masking.has_value()) std::abort();
  if (!train->masking) return 0;
  if (!tributary::privacy::ValidateRoster(train->masking->nodes, train->masking->threshold).ok())
    std::abort();
  if (train->masking->shares.size() > tributary::privacy::kMaxMaskingNodes) std::abort();
  return 0;
}
