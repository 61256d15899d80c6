// A table with few places, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "aggregator/server/connection_table.h"

namespace tributary::server {

class ConnectionTableTest : public ::testing::Test {
 protected:
  explicit ConnectionTableTest(const ConnectionLimits& limits = Few()) : table_(limits) {}

  static ConnectionLimits Few() {
    return {.connections = 8,
            .of_address = 5,
            .silent = 4,
            .silent_of_address = 3,
            .silent_cuts = 10,
            .calls_of_connection = 2,
            .calls = 6,
            .call_rate = 40,
            .call_burst = 60,
            .call_rate_of_address = 200,
            .refused_calls = 3,
            .unheard_bytes_per_look = 0,
            .silent_cost = ConnectionLimits().unpaid * 3 / 4};
  }
  // The silent connection that made room, by its number; -1: none.
  int Add(const std::string& peer, std::int64_t second = 0) {
    const auto cut = table_.Add(peer, {++last_, 0}, second);
    return cut ? cut->fd : -1;
  }
  // A connection that has made a call.
  void AddSpeaking(const std::string& peer) {
    Add(peer);
    Begin(peer);
    table_.EndCall(peer);
  }
  std::optional<Socket> Begin(const std::string& peer, const std::string& name = "",
                              std::int64_t second = 0) {
    return table_.BeginCall(peer, name, second);
  }
  std::uint64_t Refused(ConnectionFault fault) const {
    return table_.figures().refused[static_cast<std::size_t>(fault)];
  }

  ConnectionTable table_;
  int last_ = 0;
};

}  // namespace tributary::server
