// The master's side of a beacon board's serial line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command.h"
#include "core/runtime/serial_port.h"
#include "core/serial/command.h"
#include "core/serial/reply.h"

namespace tributary::cli {

struct LineArguments {
  std::string port;
  std::uint32_t baud = runtime::kSerialBaud;
};

// --port, which is required, and --baud. `more`: what else to say of the port. Returns --port.
CLI::Option* AddLineOptions(Command& command, LineArguments& line, const std::string& more = "");

// One thread. A board that refuses a command, is silent for ten seconds or answers with something else is an
// error.
class BoardLine {
 public:
  // Opens the line and asks for the version: boards of this protocol then acknowledge every command.
  static absl::StatusOr<std::unique_ptr<BoardLine>> Open(const LineArguments& arguments);

  const std::string& version() const { return version_; }

  absl::StatusOr<std::vector<serial::Outputs>> Compute(const std::vector<serial::Inputs>& inputs);
  // Returns what the board says behind "ok".
  absl::StatusOr<std::string> Do(const serial::Command& command);

 private:
  explicit BoardLine(std::unique_ptr<runtime::SerialPort> port) : port_(std::move(port)) {}
  absl::Status Send(const serial::Command& command);
  absl::StatusOr<std::string> ReadLine();
  absl::StatusOr<serial::Reply> ReadReply();

  const std::unique_ptr<runtime::SerialPort> port_;
  std::string version_;
  std::string received_;  // behind the last line
};

}  // namespace tributary::cli
