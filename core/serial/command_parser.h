// Reads commands from the bytes of a serial line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/serial/command.h"

namespace tributary::serial {

enum class FaultKind { kNoise, kRange, kTimeout };

// Why a command was not taken. `position`: of the integer in the command, 0 being the command word.
struct Fault {
  FaultKind kind = FaultKind::kNoise;
  std::size_t position = 0;
  std::string what;
};

using Parsed = std::variant<Command, Fault>;

// Integers stand apart by spaces, tabs, commas and line ends; the last one of a command is complete with what
// follows it. After noise or a wrong number nothing is known of what follows, so bytes are ignored until the
// line has been quiet for kQuietNs, or until an empty line. Holds at most one command.
class CommandParser {
 public:
  static constexpr std::int64_t kQuietNs = 100'000'000;

  // A command that stops for so long is given up.
  explicit CommandParser(std::int64_t timeout_ns) : timeout_ns_(timeout_ns) {}

  // `now_ns`: on a steady clock, when the byte arrived.
  std::optional<Parsed> Take(char byte, std::int64_t now_ns);
  // Call it where nothing arrives.
  std::optional<Fault> Idle(std::int64_t now_ns);

  // Bytes ignored after a fault, since the start.
  std::uint64_t ignored_bytes() const { return ignored_bytes_; }

 private:
  std::optional<Parsed> TakeDigit(char byte);
  std::optional<Parsed> EndNumber();
  std::optional<Parsed> TakeNumber(Word number);
  std::optional<Parsed> Complete();
  Fault Refuse(FaultKind kind, std::string what);
  void Restart();

  const std::int64_t timeout_ns_;
  std::int64_t last_ns_ = 0;
  std::string number_;         // its characters so far
  std::vector<Word> numbers_;  // of the command, with the command word
  std::size_t expected_ = 1;   // numbers of the command, as far as that is known
  bool ignoring_ = false;
  bool line_is_empty_ = false;  // while ignoring
  std::uint64_t ignored_bytes_ = 0;
};

}  // namespace tributary::serial
