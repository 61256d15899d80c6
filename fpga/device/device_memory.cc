#include "fpga/device/device_memory.h"

#include <new>

namespace tributary::device {

DeviceMemory::DeviceMemory(std::size_t bytes)
    : capacity_(bytes / kPageBytes * kPageBytes),
      storage_(static_cast<std::uint8_t*>(std::calloc(capacity_, 1)), &std::free) {
  if (storage_ == nullptr) throw std::bad_alloc();
}

std::uint64_t DeviceMemory::Allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > capacity_) return 0;
  const std::uint64_t length = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::scoped_lock lock(mutex_);
  std::uint64_t candidate = kBase;
  for (const auto& [first, end] : regions_) {
    if (first - candidate >= length) break;
    candidate = end;
  }
  if (candidate + length > kBase + capacity_) return 0;
  regions_[candidate] = candidate + length;
  return candidate;
}

void DeviceMemory::Free(std::uint64_t address) {
  const std::scoped_lock lock(mutex_);
  regions_.erase(address);
}

std::uint8_t* DeviceMemory::Resolve(std::uint64_t address, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  const auto& [first, end] = *std::prev(after);
  if (address < first || bytes > end - first || address > end - bytes) return nullptr;
  return storage_.get() + (address - kBase);
}

}  // namespace tributary::device
