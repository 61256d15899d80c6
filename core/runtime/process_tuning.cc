#include "core/runtime/process_tuning.h"

#include <malloc.h>

#include "absl/synchronization/mutex.h"

namespace tributary {

void TuneProcess() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  // Few threads allocate, and those of gRPC free what others allocated.
  mallopt(M_ARENA_MAX, 2);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

void ReturnFreedMemory() { malloc_trim(0); }

}  // namespace tributary
