#include "cli/serial/board_line.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <variant>

#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLinePatience = 10s;
constexpr std::size_t kLongestLine = 4096;

absl::Status Refused(const serial::Refusal& refusal) {
  return absl::InvalidArgumentError(
      fmt::format("the board refused the command at number {}: {}", refusal.position, refusal.what));
}

}  // namespace

CLI::Option* AddLineOptions(Command& command, LineArguments& line, const std::string& more) {
  command.Number("--baud", line.baud, "RATE", "Baud rate; 8 data bits, no parity, one stop bit",
                 {50, 4'000'000});
  return command.Text("--port", line.port, "FILE", "Serial line, as /dev/ttyUSB0" + more)->required();
}

absl::StatusOr<std::unique_ptr<BoardLine>> BoardLine::Open(const LineArguments& arguments) {
  ASSIGN_OR_RETURN(auto port, runtime::SerialPort::Open(arguments.port, arguments.baud));
  auto line = std::unique_ptr<BoardLine>(new BoardLine(std::move(port)));
  RETURN_IF_ERROR(line->Send(serial::AskVersion()));
  ASSIGN_OR_RETURN(line->version_, line->ReadLine());
  if (line->version_ == serial::kVersionReply) return line;
  return absl::UnavailableError(fmt::format("{}: \"{}\" is not the version \"{}\"", arguments.port,
                                            runtime::Printable(line->version_), serial::kVersionReply));
}

absl::StatusOr<std::vector<serial::Outputs>> BoardLine::Compute(const std::vector<serial::Inputs>& inputs) {
  RETURN_IF_ERROR(Send(serial::Compute{inputs}));
  std::vector<serial::Outputs> outputs;
  while (outputs.size() < inputs.size()) {
    ASSIGN_OR_RETURN(const serial::Reply reply, ReadReply());
    const auto* each = std::get_if<serial::Outputs>(&reply);
    if (each == nullptr)
      return absl::DataLossError("the board acknowledged a computation without its result");
    outputs.push_back(*each);
  }
  return outputs;
}

absl::StatusOr<std::string> BoardLine::Do(const serial::Command& command) {
  RETURN_IF_ERROR(Send(command));
  ASSIGN_OR_RETURN(const serial::Reply reply, ReadReply());
  if (const auto* done = std::get_if<serial::Done>(&reply)) return done->what;
  return absl::DataLossError("the board answered with a result, and none was asked for");
}

absl::Status BoardLine::Send(const serial::Command& command) {
  return port_->Write(serial::CommandText(command), kLinePatience);
}

absl::StatusOr<std::string> BoardLine::ReadLine() {
  for (;;) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kLongestLine) return absl::DataLossError("the board sends a line without an end");
    ASSIGN_OR_RETURN(const std::string_view bytes, port_->Read(kLinePatience));
    if (bytes.empty()) {
      return absl::DeadlineExceededError(
          fmt::format("{}: nothing for {} s; is a board there, at this baud rate?", port_->path(),
                      std::chrono::duration_cast<std::chrono::seconds>(kLinePatience).count()));
    }
    received_ += bytes;
  }
}

absl::StatusOr<serial::Reply> BoardLine::ReadReply() {
  ASSIGN_OR_RETURN(const std::string line, ReadLine());
  ASSIGN_OR_RETURN(serial::Reply reply, serial::ParseReply(line));
  if (const auto* refusal = std::get_if<serial::Refusal>(&reply)) return Refused(*refusal);
  return reply;
}

}  // namespace tributary::cli
