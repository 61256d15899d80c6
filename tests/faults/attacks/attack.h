// Attacks on the resources of an aggregator, by name. Only for tests: each tries to use up memory,
// descriptors, places or threads as a hostile peer would, as fast as it can.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tributary::testing {

struct Target {
  std::uint16_t port;             // of the loopback
  const std::atomic<bool>& over;  // ends the attack within a second
  // Files of a certificate, for attacks over TLS; empty without.
  std::string certificate = {};
  std::string key = {};
  std::string ca = {};
};

struct Attack {
  std::string_view name;
  void (*run)(const Target& target);
};

std::span<const Attack> ConnectionAttacks();  // that say nothing, or half a sentence
std::span<const Attack> FrameAttacks();       // in HTTP/2's frames
std::span<const Attack> CrowdAttacks();       // in what comes or ends together
std::span<const Attack> MessageAttacks();     // in messages that cost much
std::span<const Attack> CallAttacks();        // in calls

}  // namespace tributary::testing
