// A parent and its run, for tests of the trees below it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/learning/relay/tree_fixture.h"

namespace tributary::testing {

class RelayFixture : public ::testing::Test {
 protected:
  static constexpr std::size_t kElements = 5'000;
  static constexpr std::uint32_t kRounds = 4;

  RelayFixture() { parent_.Start(); }

  static std::string Config(std::size_t min_nodes, const std::string& more = "") {
    return "name = \"r\"\nrounds = " + std::to_string(kRounds) +
           "\nmin_nodes = " + std::to_string(min_nodes) + "\ndeadline_s = 60\nmax_element = 8.0\n" + more +
           "[client]\nlocal_steps = 3\n";
  }

  static void StartRun(RoundsHost& host, const std::string& config, std::size_t elements = kElements) {
    const grpc::Status status = host.StartRun(config, RoundsHost::ModelFile(elements));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  // The parameters after each round of the same nodes without aggregators in between.
  static std::vector<std::vector<float>> Flat(const std::vector<std::string>& names,
                                              const std::string& more = "") {
    RoundsHost host;
    host.Start();
    StartRun(host, Config(names.size(), more));
    std::vector<std::unique_ptr<Leaf>> leaves;
    for (const std::string& name : names) leaves.push_back(std::make_unique<Leaf>(host, name));
    return AllRounds(host);
  }
  static std::vector<std::vector<float>> AllRounds(const RoundsHost& host) {
    std::vector<std::vector<float>> rounds;
    host.WaitForRound(kRounds);
    for (std::uint32_t round = 1; round <= kRounds; ++round) rounds.push_back(host.Parameters(round));
    return rounds;
  }

  // A header of a node that asked for any run.
  static v1::UpdateHeader InRun(v1::UpdateHeader header) {
    header.set_run("r");
    return header;
  }

  RoundsHost parent_;
};

}  // namespace tributary::testing
