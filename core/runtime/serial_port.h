// A serial line: a tty with 8 data bits, no parity, one stop bit, no flow control.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::runtime {

inline constexpr std::uint32_t kSerialBaud = 115'200;

// InvalidArgument for a rate that the system does not have. Needs no line.
absl::Status CheckBaudRate(std::uint32_t baud);

// Owned and called by one thread.
class SerialPort {
 public:
  // Errors: NotFound, PermissionDenied, or Unavailable if another program has it; InvalidArgument for a
  // device that is no serial line, or a baud rate that the system does not have.
  static absl::StatusOr<std::unique_ptr<SerialPort>> Open(const std::string& path, std::uint32_t baud);
  // A terminal that is open already, such as a pseudo-terminal's master; closes it. `path`: for messages. A
  // hang-up of the other end is silence: somebody may open it again.
  static absl::StatusOr<std::unique_ptr<SerialPort>> Adopt(int descriptor, const std::string& path);
  ~SerialPort();
  SerialPort(const SerialPort&) = delete;
  SerialPort& operator=(const SerialPort&) = delete;

  // What has arrived, after at most `timeout`; empty if nothing did. Valid until the next call. Errors:
  // Unavailable if the device is gone.
  absl::StatusOr<std::string_view> Read(std::chrono::milliseconds timeout);
  // Errors: DeadlineExceeded if the line takes nothing for `timeout`; Unavailable if the device is gone.
  absl::Status Write(std::string_view bytes, std::chrono::milliseconds timeout);

  const std::string& path() const;

 private:
  struct Impl;
  explicit SerialPort(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tributary::runtime
