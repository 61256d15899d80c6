// The software board as a device of libxrt_coreutil, and the library's entry point: an object that registers
// itself when the library is opened.
#include <ert.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "fpga/device/board.h"
#include "fpga/device/xrt_core_interface.h"

namespace tributary::device {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::uint32_t kStateMask = 0xf;

// One opening of the board. Any thread may call. After close_device every call but free_bo and unmap_bo fails
// with ENODEV.
class SoftwareDevice final : public xrt_core::device, public std::enable_shared_from_this<SoftwareDevice> {
 public:
  SoftwareDevice(unsigned index, std::shared_ptr<Board> board) : device(index), board_(std::move(board)) {}
  ~SoftwareDevice() override { close_device(); }

  xclDeviceHandle get_device_handle() const override { return const_cast<SoftwareDevice*>(this); }

  const xrt_core::query::request& lookup_query(xrt_core::query::key_type key) const override {
    throw xrt_core::query::no_such_key(key);
  }

  void load_axlf(const axlf* image) override {
    board()->Load(*image);
    register_axlf(image);
  }

  void open_context(const xuid_t xclbin, unsigned unit, bool shared) override {
    Board::Uuid uuid;
    std::memcpy(uuid.data(), xclbin, uuid.size());
    board()->OpenContext(uuid, unit, shared);
    const std::scoped_lock lock(mutex_);
    contexts_.push_back(unit);
  }

  void close_context(const xuid_t, unsigned unit) override {
    const std::scoped_lock lock(mutex_);
    const auto context = std::find(contexts_.begin(), contexts_.end(), unit);
    if (context == contexts_.end() || board_ == nullptr) return;
    contexts_.erase(context);
    board_->CloseContext(unit);
  }

  void close_device() override;

  xclBufferHandle alloc_bo(std::size_t bytes, unsigned flags) override {
    auto own = std::make_unique<std::byte[]>(bytes + kPageBytes);
    void* aligned = own.get();
    std::size_t space = bytes + kPageBytes;
    auto* host = static_cast<std::byte*>(std::align(kPageBytes, bytes, aligned, space));
    return Add({.own = std::move(own), .host = host, .bytes = bytes, .flags = flags});
  }

  xclBufferHandle alloc_bo(void* host, std::size_t bytes, unsigned flags) override {
    return Add({.own = {}, .host = static_cast<std::byte*>(host), .bytes = bytes, .flags = flags});
  }

  void free_bo(xclBufferHandle handle) override {
    const std::scoped_lock lock(mutex_);
    const auto buffer = buffers_.find(handle);
    if (buffer == buffers_.end()) return;
    if (board_ != nullptr) board_->memory().Free(buffer->second.device_address);
    buffers_.erase(buffer);
  }

  void copy_bo(xclBufferHandle to, xclBufferHandle from, std::size_t bytes, std::size_t to_offset,
               std::size_t from_offset) override {
    board()->Check();
    const std::scoped_lock lock(mutex_);
    std::memmove(DeviceCopy(Find(to), bytes, to_offset), DeviceCopy(Find(from), bytes, from_offset), bytes);
  }

  void sync_bo(xclBufferHandle buffer, xclBOSyncDirection direction, std::size_t bytes,
               std::size_t offset) override;

  void* map_bo(xclBufferHandle handle, bool) override {
    const std::scoped_lock lock(mutex_);
    return Find(handle).host;
  }

  void unmap_bo(xclBufferHandle, void*) override {}

  void get_bo_properties(xclBufferHandle handle, xclBOProperties* properties) const override {
    const std::scoped_lock lock(mutex_);
    const Buffer& buffer = Find(handle);
    *properties = {};
    properties->handle = handle;
    properties->flags = buffer.flags;
    properties->size = buffer.bytes;
    properties->paddr = buffer.device_address;
  }

  void reg_read(std::uint32_t unit, std::uint32_t offset, std::uint32_t* value) const override {
    *value = board()->unit(unit).ReadRegister(offset);
  }

  void reg_write(std::uint32_t unit, std::uint32_t offset, std::uint32_t value) override {
    board()->unit(unit).WriteRegister(offset, value);
  }

  void exec_buf(xclBufferHandle packet) override;
  int exec_wait(int timeout_ms) const override;

 private:
  // Host and device have separate copies: a forgotten sync gives wrong data.
  struct Buffer {
    std::unique_ptr<std::byte[]> own;  // empty for a caller's memory
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    unsigned flags = 0;
    std::uint64_t device_address = 0;  // 0 for a packet
  };

  std::shared_ptr<Board> board() const {
    const std::scoped_lock lock(mutex_);
    if (board_ == nullptr) Throw(ENODEV, "the device is closed");
    return board_;
  }

  xclBufferHandle Add(Buffer buffer);

  const Buffer& Find(xclBufferHandle handle) const {
    const auto buffer = buffers_.find(handle);
    if (buffer == buffers_.end()) Throw(EINVAL, "no such buffer");
    return buffer->second;
  }

  std::byte* DeviceCopy(const Buffer& buffer, std::size_t bytes, std::size_t offset) const;
  void Complete(std::uint32_t* header, std::uint32_t state);

  mutable std::mutex mutex_;
  std::shared_ptr<Board> board_;  // empty when closed
  std::map<xclBufferHandle, Buffer> buffers_;
  xclBufferHandle next_buffer_ = 1;
  std::vector<std::uint32_t> contexts_;  // units, once per opening

  mutable std::mutex completion_mutex_;
  mutable std::condition_variable completion_;
  mutable std::uint64_t completions_ = 0;  // not yet returned by exec_wait
};

void SoftwareDevice::close_device() {
  std::shared_ptr<Board> board;
  {
    const std::scoped_lock lock(mutex_);
    board.swap(board_);
  }
  if (board == nullptr) return;
  // Running jobs would write into the packets freed below.
  board->Abort(this, std::nullopt);
  const std::scoped_lock lock(mutex_);
  for (const auto& [handle, buffer] : buffers_) board->memory().Free(buffer.device_address);
  buffers_.clear();
  for (const std::uint32_t unit : contexts_) board->CloseContext(unit);
  contexts_.clear();
}

xclBufferHandle SoftwareDevice::Add(Buffer buffer) {
  const std::shared_ptr<Board> target = board();
  target->Check();
  if ((buffer.flags & XCL_BO_FLAGS_EXECBUF) == 0) {
    buffer.device_address = target->memory().Allocate(buffer.bytes);
    if (buffer.device_address == 0) throw std::bad_alloc();
    // Filled with a pattern, so that a program that reads without a sync fails.
    std::memset(target->memory().Resolve(buffer.device_address, buffer.bytes), 0xdb, buffer.bytes);
  }
  const std::scoped_lock lock(mutex_);
  const xclBufferHandle handle = next_buffer_++;
  buffers_[handle] = std::move(buffer);
  return handle;
}

std::byte* SoftwareDevice::DeviceCopy(const Buffer& buffer, std::size_t bytes, std::size_t offset) const {
  if (offset > buffer.bytes || bytes > buffer.bytes - offset) Throw(EINVAL, "outside of the buffer");
  std::uint8_t* memory =
      board_ == nullptr ? nullptr : board_->memory().Resolve(buffer.device_address + offset, bytes);
  if (memory == nullptr) Throw(EINVAL, "the buffer has no device memory");
  return reinterpret_cast<std::byte*>(memory);
}

void SoftwareDevice::sync_bo(xclBufferHandle handle, xclBOSyncDirection direction, std::size_t bytes,
                             std::size_t offset) {
  board()->Check();
  std::byte* host;
  std::byte* remote;
  {
    const std::scoped_lock lock(mutex_);
    const Buffer& buffer = Find(handle);
    remote = DeviceCopy(buffer, bytes, offset);
    host = buffer.host + offset;
  }
  if (direction == XCL_BO_SYNC_BO_TO_DEVICE) {
    std::memcpy(remote, host, bytes);
  } else {
    std::memcpy(host, remote, bytes);
  }
}

void SoftwareDevice::Complete(std::uint32_t* header, std::uint32_t state) {
  {
    const std::scoped_lock lock(completion_mutex_);
    std::atomic_ref<std::uint32_t> word(*header);
    word.store((word.load() & ~kStateMask) | state, std::memory_order_release);
    ++completions_;
  }
  completion_.notify_all();
}

void SoftwareDevice::exec_buf(xclBufferHandle handle) {
  const std::shared_ptr<Board> target = board();
  std::uint32_t* packet;
  std::size_t words;
  {
    const std::scoped_lock lock(mutex_);
    const Buffer& buffer = Find(handle);
    packet = reinterpret_cast<std::uint32_t*>(buffer.host);
    words = buffer.bytes / sizeof(*packet);
  }
  const auto* header = reinterpret_cast<const ert_start_kernel_cmd*>(packet);
  if (words == 0 || header->count >= words) Throw(EINVAL, "a packet longer than its buffer");
  if (header->opcode == ERT_ABORT) {
    const auto* abort = reinterpret_cast<const ert_abort_cmd*>(packet);
    target->Abort(this, static_cast<std::uint32_t>(abort->exec_bo_handle));
    Complete(packet, ERT_CMD_STATE_COMPLETED);
    return;
  }
  if (header->opcode != ERT_START_CU) Throw(ENOTSUP, "the software device only starts and aborts runs");
  const std::size_t masks = 1u + header->extra_cu_masks;
  if (header->count < masks) Throw(EINVAL, "a start packet without a compute unit mask");
  KernelRun run;
  run.client = this;
  run.packet = handle;
  run.registers.assign(packet + 1 + masks, packet + 1 + header->count);
  run.on_outcome = [this, packet](KernelRun::Outcome outcome) {
    Complete(packet,
             outcome == KernelRun::Outcome::kCompleted ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ABORT);
  };
  target->Start({packet + 1, masks}, std::move(run));
}

int SoftwareDevice::exec_wait(int timeout_ms) const {
  std::unique_lock lock(completion_mutex_);
  const auto completed = [this] { return completions_ > 0; };
  if (!completion_.wait_for(lock, std::chrono::milliseconds(timeout_ms), completed)) return 0;
  --completions_;
  return 1;
}

// The faults of TRIBUTARY_DEVICE_FAULTS. A malformed list is an error.
FaultPlan FaultsFromEnvironment() {
  const char* text = std::getenv("TRIBUTARY_DEVICE_FAULTS");
  absl::StatusOr<FaultPlan> plan = FaultPlan::Parse(text == nullptr ? "" : text);
  if (!plan.ok()) throw std::runtime_error(std::string(plan.status().message()));
  return *plan;
}

// One board, index 0. It exists while somebody has it open; the first opening reads its faults. Devices are
// kept until the process ends: threads of coreutil may still use a closed one.
class SoftwareSystem final : public xrt_core::system {
 public:
  std::pair<unsigned, unsigned> get_total_devices(bool) const override {
    const unsigned count = FaultsFromEnvironment().no_device ? 0 : 1;
    return {count, count};
  }

  std::shared_ptr<xrt_core::device> get_userpf_device(unsigned index) const override {
    const FaultPlan faults = FaultsFromEnvironment();
    if (index != 0 || faults.no_device) Throw(ENODEV, "no device");
    if (faults.no_permission) Throw(EACCES, "cannot open the device node");
    std::shared_ptr<SoftwareDevice> device;
    {
      const std::scoped_lock lock(mutex_);
      std::shared_ptr<Board> board = board_.lock();
      if (board == nullptr) board_ = board = std::make_shared<Board>(faults);
      device = std::make_shared<SoftwareDevice>(index, std::move(board));
      devices_.push_back(device);
    }
    // Calls back the function below.
    return xrt_core::get_userpf_device(device->get_device_handle(), index);
  }

  std::shared_ptr<xrt_core::device> get_userpf_device(xclDeviceHandle handle, unsigned) const override {
    return static_cast<SoftwareDevice*>(handle)->shared_from_this();
  }

  std::shared_ptr<xrt_core::device> get_mgmtpf_device(unsigned) const override {
    Throw(ENOTSUP, "the software device has no management function");
  }

 private:
  mutable std::mutex mutex_;
  mutable std::weak_ptr<Board> board_;
  mutable std::vector<std::shared_ptr<SoftwareDevice>> devices_;
};

// Never destroyed: coreutil calls until the very end of the process.
[[maybe_unused]] SoftwareSystem* const registered = new SoftwareSystem;

}  // namespace
}  // namespace tributary::device
