// Nodes of one run draw differently; a node that restarts draws the same.
#pragma once

#include <cstdint>
#include <string>

#include "core/nn/kernel/random_stream.h"

namespace tributary::learner {

// FNV-1a of the node's name, mixed with the run's seed.
inline std::uint64_t NodeSeed(std::uint64_t run_seed, const std::string& node) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const unsigned char c : node) hash = (hash ^ c) * 0x100000001b3ULL;
  return nn::RandomStream::Of(run_seed, hash).Bits();
}

}  // namespace tributary::learner
