// The board's side of a serial line: commands in, replies out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/serial/board.h"
#include "core/serial/command_parser.h"

namespace tributary::serial {

struct SessionCounters {
  std::uint64_t computed_inputs = 0;
  std::uint64_t weight_updates = 0;  // of a layer
  std::uint64_t retrainings = 0;     // whose weights were taken
  std::uint64_t kept_weights = 0;    // retrainings that made the network no better
  std::uint64_t noise = 0;           // commands refused for a byte or number that cannot be read
  std::uint64_t out_of_range = 0;    // commands refused for a number out of its range
  std::uint64_t timeouts = 0;        // commands that stopped in the middle
  std::uint64_t refused = 0;         // commands that the board could not do
  std::uint64_t ignored_bytes = 0;   // between a fault and the next command

  SessionCounters& operator+=(const SessionCounters& other);
};

// Replies are those of [BEACON], which answers a computation alone, and refusals. A master that asks for the
// version also gets "ok" for each other command. One thread calls.
class Session {
 public:
  static constexpr std::int64_t kTimeoutNs = 1'000'000'000;

  // The board outlives it.
  explicit Session(Board& board) : board_(board), parser_(kTimeoutNs) {}

  // Appends replies, each a line.
  void Take(std::string_view bytes, std::int64_t now_ns, std::string& replies);
  void Idle(std::int64_t now_ns, std::string& replies);

  SessionCounters counters() const;

 private:
  void Do(const Command& command, std::string& replies);
  void Do(const SetLayer& set, std::string& replies);
  void Do(const Compute& compute, std::string& replies);
  void Do(const Retrain& retrain, std::string& replies);
  void Do(const AskVersion&, std::string& replies);
  void Answer(const Fault& fault, std::string& replies);
  void Refuse(const absl::Status& status, std::string& replies);

  Board& board_;
  CommandParser parser_;
  bool acknowledges_ = false;
  SessionCounters counters_;
};

}  // namespace tributary::serial
