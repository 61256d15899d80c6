// Whether the process has nearly used up the memory that it may have.
#pragma once

#include <malloc.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "core/runtime/memory_limit.h"

namespace tributary::server {

enum class MemoryState : std::uint8_t {
  kPlenty,
  kScarce,  // more than half is resident
  kFull,    // more than three quarters are in use, and less than at the last look
  kOut,     // the same, and it does not become less
};

// One thread's. Bytes in use are those that malloc has given out: what was freed stays resident until the
// system gets it back (FreedMemory), and is taken again before anything else.
class MemoryWatch {
 public:
  using Bytes = std::function<std::uint64_t()>;

  // `limit`: bytes. `resident` and `in_use`: the process's; others in tests.
  explicit MemoryWatch(std::uint64_t limit, Bytes resident = Resident(), Bytes in_use = InUse)
      : limit_(limit), resident_(std::move(resident)), in_use_(std::move(in_use)) {}

  // Some microseconds while there is plenty.
  MemoryState Look() {
    if (resident_() <= limit_ / 2) return MemoryState::kPlenty;
    const std::uint64_t in_use = in_use_();
    const bool falls = in_use < last_in_use_;
    last_in_use_ = in_use;
    if (in_use <= limit_ - limit_ / 4) return MemoryState::kScarce;
    return falls ? MemoryState::kFull : MemoryState::kOut;
  }

 private:
  static Bytes Resident() {
    return [memory = std::make_shared<runtime::ResidentMemory>()] { return memory->Bytes(); };
  }
  static std::uint64_t InUse() {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
  }

  std::uint64_t limit_;
  Bytes resident_;
  Bytes in_use_;
  std::uint64_t last_in_use_ = 0;
};

}  // namespace tributary::server
