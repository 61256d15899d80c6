// The board's memory. Kernels read and write it; the host has its own copies of buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "fpga/device/axi_memory_port.h"

namespace tributary::device {

// Any thread may call. Full: Allocate gives 0.
class DeviceMemory final : public BusMemory {
 public:
  static constexpr std::uint64_t kBase = 0x1'0000'0000;  // far from 0, so that a lost pointer is not memory
  static constexpr std::size_t kPageBytes = 4096;

  // Reserves address space; a page takes memory when it is touched. Throws std::bad_alloc.
  explicit DeviceMemory(std::size_t bytes);

  // Whole pages; 0 if there is no room.
  std::uint64_t Allocate(std::size_t bytes);
  void Free(std::uint64_t address);

  std::uint8_t* Resolve(std::uint64_t address, std::uint64_t bytes) override;

 private:
  const std::size_t capacity_;
  const std::unique_ptr<std::uint8_t, decltype(&std::free)> storage_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> regions_;  // first address to end
};

}  // namespace tributary::device
