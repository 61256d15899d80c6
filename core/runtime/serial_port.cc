#include "core/runtime/serial_port.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/serial_port.hpp>
#include <boost/asio/write.hpp>
#include <thread>
#include <utility>

#include "core/status/macros.h"

namespace tributary::runtime {
namespace {

using boost::asio::serial_port;
using boost::system::error_code;
namespace errc = boost::system::errc;

absl::Status OpenFault(const std::string& path, const error_code& error) {
  const std::string text = fmt::format("{}: {}", path, error.message());
  if (error == errc::no_such_file_or_directory) return absl::NotFoundError(text);
  if (error == errc::permission_denied) {
    return absl::PermissionDeniedError(text + "; join the group that owns it, often dialout");
  }
  if (error == errc::device_or_resource_busy)
    return absl::UnavailableError(text + ": another program has it");
  if (error == errc::inappropriate_io_control_operation || error == errc::not_a_directory ||
      error == errc::is_a_directory) {
    return absl::InvalidArgumentError(path + ": is no serial line");
  }
  return absl::UnavailableError(text);
}

}  // namespace

absl::Status CheckBaudRate(std::uint32_t baud) {
  termios mode{};
  error_code error;
  serial_port::baud_rate(baud).store(mode, error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the baud rate {} is none of the system's, such as 9600 or 115200", baud));
}

struct SerialPort::Impl {
  // Runs what was started; cancels it after the timeout. The operation is over afterwards.
  bool Finish(std::chrono::milliseconds timeout) {
    io.restart();
    io.run_for(timeout);
    if (io.stopped()) return true;
    error_code ignored;
    port.cancel(ignored);
    io.run();
    return false;
  }

  std::string path;
  bool adopted = false;
  boost::asio::io_context io{1};
  serial_port port{io};
  std::array<char, 4096> buffer = {};
};

SerialPort::SerialPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SerialPort::~SerialPort() = default;

const std::string& SerialPort::path() const { return impl_->path; }

absl::StatusOr<std::unique_ptr<SerialPort>> SerialPort::Open(const std::string& path, std::uint32_t baud) {
  RETURN_IF_ERROR(CheckBaudRate(baud));
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  error_code error;
  impl->port.open(path, error);
  if (error) return OpenFault(path, error);
  impl->port.set_option(serial_port::baud_rate(baud), error);
  if (error) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the baud rate {} is not one that the line has: {}", path, baud, error.message()));
  }
  impl->port.set_option(serial_port::character_size(8), error);
  if (!error) impl->port.set_option(serial_port::parity(serial_port::parity::none), error);
  if (!error) impl->port.set_option(serial_port::stop_bits(serial_port::stop_bits::one), error);
  if (!error) impl->port.set_option(serial_port::flow_control(serial_port::flow_control::none), error);
  if (error) return OpenFault(path, error);
  ioctl(impl->port.native_handle(), TIOCEXCL);  // two programs would share its bytes
  return std::unique_ptr<SerialPort>(new SerialPort(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<SerialPort>> SerialPort::Adopt(int descriptor, const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->adopted = true;
  error_code error;
  impl->port.assign(descriptor, error);
  if (error) return OpenFault(path, error);
  return std::unique_ptr<SerialPort>(new SerialPort(std::move(impl)));
}

absl::StatusOr<std::string_view> SerialPort::Read(std::chrono::milliseconds timeout) {
  error_code error;
  std::size_t count = 0;
  impl_->port.async_read_some(boost::asio::buffer(impl_->buffer), [&](const error_code& e, std::size_t n) {
    error = e;
    count = n;
  });
  const bool in_time = impl_->Finish(timeout);
  if (count > 0) return std::string_view(impl_->buffer.data(), count);
  if (!in_time && error == boost::asio::error::operation_aborted) return std::string_view();
  if (impl_->adopted && error == errc::io_error) {  // a master whose device nobody has open
    std::this_thread::sleep_for(timeout);
    return std::string_view();
  }
  return absl::UnavailableError(fmt::format("{}: the line is gone: {}", impl_->path, error.message()));
}

absl::Status SerialPort::Write(std::string_view bytes, std::chrono::milliseconds timeout) {
  error_code error;
  boost::asio::async_write(impl_->port, boost::asio::buffer(bytes.data(), bytes.size()),
                           [&](const error_code& e, std::size_t) { error = e; });
  if (!impl_->Finish(timeout) && error) {
    return absl::DeadlineExceededError(
        fmt::format("{}: the line took nothing for {} ms", impl_->path, timeout.count()));
  }
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("{}: the line is gone: {}", impl_->path, error.message()));
}

}  // namespace tributary::runtime
