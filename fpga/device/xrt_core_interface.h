// The interface by which XRT 2.13's libxrt_coreutil calls the library that drives a device. Debian ships
// no header for it. Names of classes and the order of virtual functions are binary facts and must not be
// changed; names of functions do not matter to the binary interface.
//
// On amd64 coreutil was built with the AI engine's 21 entries, on arm64 without; a test compares the sizes
// of its tables with those expected here (xrt_core_interface_test.cc).
#pragma once

#include <xrt.h>
// After xrt.h:
#include <experimental/xrt-next.h>
#include <experimental/xrt_xclbin.h>
#include <version.h>

#include <boost/any.hpp>
#include <boost/property_tree/ptree_fwd.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

static_assert(XRT_VERSION_CODE == XRT_VERSION(2, 13), "the order of virtual functions is that of XRT 2.13");

namespace xrt_core {

class device;

namespace query {

enum class key_type : int;
struct request;
struct reset_type_opaque;

class exception : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A device throws this for a query without an answer; coreutil catches it by type.
class no_such_key : public exception {
 public:
  explicit no_such_key(key_type key) : exception("the software device has no answer"), key_(key) {}

 private:
  key_type key_;
};

}  // namespace query

struct ishim {
  [[noreturn]] static void NotSupported() {
    throw std::system_error(std::make_error_code(std::errc::not_supported), "software device");
  }

  virtual void close_device() = 0;
  virtual void open_context(const xuid_t xclbin, unsigned unit, bool shared) = 0;
  virtual void close_context(const xuid_t xclbin, unsigned unit) = 0;
  virtual xclBufferHandle alloc_bo(std::size_t bytes, unsigned flags) = 0;
  virtual xclBufferHandle alloc_bo(void* host, std::size_t bytes, unsigned flags) = 0;
  virtual void free_bo(xclBufferHandle) = 0;
  virtual xclBufferExportHandle export_bo(xclBufferHandle) const { NotSupported(); }
  virtual xclBufferHandle import_bo(xclBufferExportHandle) { NotSupported(); }
  virtual void close_export_handle(xclBufferExportHandle) { NotSupported(); }
  virtual xclBufferHandle import_bo(pid_t, xclBufferExportHandle) { NotSupported(); }
  virtual void copy_bo(xclBufferHandle to, xclBufferHandle from, std::size_t bytes, std::size_t to_offset,
                       std::size_t from_offset) = 0;
  virtual void sync_bo(xclBufferHandle, xclBOSyncDirection, std::size_t bytes, std::size_t offset) = 0;
  virtual void* map_bo(xclBufferHandle, bool write) = 0;
  virtual void unmap_bo(xclBufferHandle, void* address) = 0;
  virtual void get_bo_properties(xclBufferHandle, xclBOProperties*) const = 0;
  virtual void reg_read(std::uint32_t unit, std::uint32_t offset, std::uint32_t* value) const = 0;
  virtual void reg_write(std::uint32_t unit, std::uint32_t offset, std::uint32_t value) = 0;
  virtual void xread(xclAddressSpace, std::uint64_t, void*, std::size_t) const { NotSupported(); }
  virtual void xwrite(xclAddressSpace, std::uint64_t, const void*, std::size_t) { NotSupported(); }
  virtual void unmgd_pread(void*, std::size_t, std::uint64_t) { NotSupported(); }
  virtual void unmgd_pwrite(const void*, std::size_t, std::uint64_t) { NotSupported(); }
  virtual void exec_buf(xclBufferHandle packet) = 0;
  virtual int exec_wait(int timeout_ms) const = 0;
  virtual void load_axlf(const axlf*) = 0;
  virtual void reclock(const std::uint16_t*) { NotSupported(); }
  virtual void p2p_enable(bool) { NotSupported(); }
  virtual void p2p_disable(bool) { NotSupported(); }
  virtual void set_cma(bool, std::uint64_t) { NotSupported(); }
  virtual void update_scheduler_status() { NotSupported(); }
  virtual void user_reset(xclResetKind) { NotSupported(); }
  virtual xclInterruptNotifyHandle open_ip_interrupt_notify(unsigned) { NotSupported(); }
  virtual void close_ip_interrupt_notify(xclInterruptNotifyHandle) { NotSupported(); }
  virtual void enable_ip_interrupt(xclInterruptNotifyHandle) { NotSupported(); }
  virtual void disable_ip_interrupt(xclInterruptNotifyHandle) { NotSupported(); }
  virtual void wait_ip_interrupt(xclInterruptNotifyHandle) { NotSupported(); }
  virtual std::cv_status wait_ip_interrupt(xclInterruptNotifyHandle, std::int32_t) { NotSupported(); }
#if defined(__x86_64__)  // the AI engine's entries: nobody calls them, but the binary interface has them
  virtual void ai_engine_00() { NotSupported(); }
  virtual void ai_engine_01() { NotSupported(); }
  virtual void ai_engine_02() { NotSupported(); }
  virtual void ai_engine_03() { NotSupported(); }
  virtual void ai_engine_04() { NotSupported(); }
  virtual void ai_engine_05() { NotSupported(); }
  virtual void ai_engine_06() { NotSupported(); }
  virtual void ai_engine_07() { NotSupported(); }
  virtual void ai_engine_08() { NotSupported(); }
  virtual void ai_engine_09() { NotSupported(); }
  virtual void ai_engine_10() { NotSupported(); }
  virtual void ai_engine_11() { NotSupported(); }
  virtual void ai_engine_12() { NotSupported(); }
  virtual void ai_engine_13() { NotSupported(); }
  virtual void ai_engine_14() { NotSupported(); }
  virtual void ai_engine_15() { NotSupported(); }
  virtual void ai_engine_16() { NotSupported(); }
  virtual void ai_engine_17() { NotSupported(); }
  virtual void ai_engine_18() { NotSupported(); }
  virtual void ai_engine_19() { NotSupported(); }
  virtual void ai_engine_20() { NotSupported(); }
#endif

 protected:
  ~ishim() = default;
};

class device : public ishim {
 public:
  explicit device(unsigned index);
  virtual ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  virtual xclDeviceHandle get_device_handle() const = 0;
  virtual xclDeviceHandle get_mgmt_handle() const { return nullptr; }
  virtual xclDeviceHandle get_user_handle() const { return get_device_handle(); }
  virtual bool is_userpf() const { return false; }
  virtual const query::request& lookup_query(query::key_type) const = 0;
  virtual void get_info(boost::property_tree::ptree&) const {}
  virtual void read(std::uint64_t, void*, std::uint64_t) const {}
  virtual void write(std::uint64_t, const void*, std::uint64_t) const {}
  virtual void reset(query::reset_type_opaque&) const {}
  virtual void xclmgmt_load_xclbin(const char*) const {}
  virtual int open(const std::string&, int) const { NotSupported(); }
  virtual void close(int) const { NotSupported(); }

  // Tells coreutil which xclbin is loaded. Every load_axlf that succeeds must call it.
  void register_axlf(const axlf*);

 private:
  // Room for the members of coreutil's class, which its constructor fills: an index, a boost::optional<bool>,
  // a map, a vector and the xclbin.
  alignas(
      8) std::byte members_[8 + sizeof(std::map<int, int>) + sizeof(std::vector<int>) + sizeof(xrt::xclbin)];
};

class system {
 protected:
  system();
  ~system() = default;

 public:
  virtual void get_xrt_info(boost::property_tree::ptree&) {}
  virtual void get_os_info(boost::property_tree::ptree&) {}
  virtual void get_devices(boost::property_tree::ptree&) const {}
  virtual unsigned get_device_id(const std::string&) const;
  virtual std::pair<unsigned, unsigned> get_total_devices(bool is_user) const = 0;
  virtual std::shared_ptr<device> get_userpf_device(unsigned index) const = 0;
  virtual std::shared_ptr<device> get_userpf_device(xclDeviceHandle, unsigned index) const = 0;
  virtual std::shared_ptr<device> get_mgmtpf_device(unsigned index) const = 0;
  virtual int get_monitor_access_type() const { return 0; }
  virtual void program_plp(const device*, const std::vector<char>&, bool) const { ishim::NotSupported(); }
  virtual void mem_read(const device*, long long, long long, const std::string&) const {
    ishim::NotSupported();
  }
  virtual void mem_write(const device*, long long, long long, unsigned) const { ishim::NotSupported(); }
};

// Registers the device behind a handle; calls back system::get_userpf_device(handle, index) to make it.
std::shared_ptr<device> get_userpf_device(xclDeviceHandle, unsigned index);

}  // namespace xrt_core
