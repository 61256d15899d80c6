// A table whose connections cost what a test says.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "aggregator/server/connection_table_fixture.h"

namespace tributary::server {

class CostTest : public ConnectionTableTest {
 protected:
  explicit CostTest(const ConnectionLimits& limits = Few()) : ConnectionTableTest(limits), limits_(limits) {}

  // Those that are cut, by their numbers, after each of the connections has cost so much more.
  std::set<int> Look(const std::map<int, std::chrono::nanoseconds>& costs, std::uint64_t bytes = 0,
                     std::int64_t second = 0, std::chrono::nanoseconds past = std::chrono::milliseconds(5)) {
    const auto cost = [&](Socket socket) -> std::optional<ReadCost> {
      const auto found = costs.find(socket.fd);
      if (found == costs.end()) return std::nullopt;
      ReadCost& all = costs_[socket.fd];
      all.processor += found->second;
      all.bytes += bytes;
      return all;
    };
    std::set<int> cut;
    for (const auto& [socket, peer] : table_.TakeCostly(cost, past, second)) cut.insert(socket.fd);
    return cut;
  }
  // Nothing happens for so long.
  void Wait(std::chrono::nanoseconds past, std::int64_t second = 0) { Look({}, 0, second, past); }

  const ConnectionLimits limits_;
  const std::chrono::nanoseconds half_ = limits_.unpaid / 2;
  std::map<int, ReadCost> costs_;
};

// With the limits that are in force.
class FleetCostTest : public CostTest {
 protected:
  FleetCostTest() : CostTest(ConnectionLimits()) {}
};

}  // namespace tributary::server
