// One opening of the software board: a device of libxrt_coreutil. The .cc file has the library's entry point,
// an object that registers itself when the library is opened.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fpga/device/board.h"
#include "fpga/device/xrt_core_interface.h"

namespace tributary::device {

// Any thread may call. After close_device every call but free_bo and unmap_bo fails with ENODEV.
class SoftwareDevice final : public xrt_core::device {
 public:
  SoftwareDevice(unsigned index, xclDeviceHandle handle, std::shared_ptr<Board> board);
  ~SoftwareDevice() override;

  void close_device() override;
  void open_context(const xuid_t xclbin, unsigned unit, bool shared) override;
  void close_context(const xuid_t xclbin, unsigned unit) override;
  xclBufferHandle alloc_bo(std::size_t bytes, unsigned flags) override;
  xclBufferHandle alloc_bo(void* host, std::size_t bytes, unsigned flags) override;
  void free_bo(xclBufferHandle buffer) override;
  void copy_bo(xclBufferHandle to, xclBufferHandle from, std::size_t bytes, std::size_t to_offset,
               std::size_t from_offset) override;
  void sync_bo(xclBufferHandle buffer, xclBOSyncDirection direction, std::size_t bytes,
               std::size_t offset) override;
  void* map_bo(xclBufferHandle buffer, bool write) override;
  void unmap_bo(xclBufferHandle buffer, void* address) override;
  void get_bo_properties(xclBufferHandle buffer, xclBOProperties* properties) const override;
  void reg_read(std::uint32_t unit, std::uint32_t offset, std::uint32_t* value) const override;
  void reg_write(std::uint32_t unit, std::uint32_t offset, std::uint32_t value) override;
  void exec_buf(xclBufferHandle packet) override;
  int exec_wait(int timeout_ms) const override;
  void load_axlf(const axlf* image) override;
  xclDeviceHandle get_device_handle() const override { return handle_; }
  const xrt_core::query::request& lookup_query(xrt_core::query::key_type key) const override;

 private:
  // Host and device have separate copies: a forgotten sync gives wrong data.
  struct Buffer {
    std::unique_ptr<std::byte[]> own;  // empty for a caller's memory
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    std::uint64_t device_address = 0;  // 0 for a packet
    unsigned flags = 0;
  };

  std::shared_ptr<Board> board() const;
  xclBufferHandle Add(Buffer buffer);
  const Buffer& Find(xclBufferHandle handle) const;
  std::byte* DeviceCopy(const Buffer& buffer, std::size_t bytes, std::size_t offset) const;
  void Complete(std::uint32_t* header, std::uint32_t state);

  const xclDeviceHandle handle_;

  mutable std::mutex mutex_;
  std::shared_ptr<Board> board_;  // empty when closed
  std::map<xclBufferHandle, Buffer> buffers_;
  xclBufferHandle next_buffer_ = 1;
  std::vector<std::uint32_t> contexts_;  // units, once per opening

  mutable std::mutex completion_mutex_;
  mutable std::condition_variable completion_;
  mutable std::uint64_t completions_ = 0;  // not yet returned by exec_wait
};

}  // namespace tributary::device
