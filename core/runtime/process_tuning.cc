#include "core/runtime/process_tuning.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "absl/synchronization/mutex.h"

namespace tributary::runtime {

void TuneProcess() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // Chunks of models and updates (1 MiB each) come and go on many threads and would fragment the heap.
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  // Few threads allocate; gRPC's threads free what others allocated.
  mallopt(M_ARENA_MAX, 2);
  // Each peer's connection and each file of the store needs a descriptor: the usual 1,024 are too few.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

void QuietLibraries() { setenv("GRPC_VERBOSITY", "NONE", 0); }

void ReturnFreedMemory() { malloc_trim(0); }

}  // namespace tributary::runtime
