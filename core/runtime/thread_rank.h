// Who waits for whom when processors are short: panels first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "core/runtime/descriptor.h"

namespace tributary::runtime {

// Linux gives each thread a nice value of its own, and raising it takes no privilege. A thread of a lower
// rank still runs at once on a processor that is idle. On a busy one the kernel gives ten nice levels less
// about a tenth of the time, and lets a thread of the first rank interrupt the others (sched(7)).
enum class ThreadRank : std::uint8_t {
  kFusion,      // frames, fused slots and the door that guards them: as nice as the process
  kBackground,  // learning, HTTP and rare calls: their peers wait milliseconds more and lose nothing
  kSpare,       // figures that nobody waits for
};

// How much nicer than the process a thread of this rank is.
constexpr int NiceLevels(ThreadRank rank) {
  constexpr std::array<int, 3> kLevels = {0, 10, 15};
  return kLevels[static_cast<std::size_t>(rank)];
}

// Call first on a new thread, whose starter has the first rank: a thread begins with the nice value of its
// starter. `name`: as debuggers and top show it; they show its first 15 bytes.
void EnterThread(const std::string& name, ThreadRank rank);

// Gives a rank to threads that a library starts when it needs them. One thread's, of the first rank.
class ForeignThreads {
 public:
  // `name`: of each such thread, as far as the kernel shows it.
  ForeignThreads(std::string name, ThreadRank rank);

  // Ranks those that have started since the last look. Costs a microsecond if the process had as many threads
  // at the last two.
  void Look();

 private:
  const std::string name_;
  const ThreadRank rank_;
  const Descriptor tasks_;
  std::set<std::string> ranked_;  // by the kernel's number
  std::uint64_t threads_ = 0;     // at the last look
  bool again_ = false;            // their number had changed then
};

}  // namespace tributary::runtime
