#include "core/runtime/process_tuning.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "absl/synchronization/mutex.h"

namespace tributary::runtime {

void TuneProcess() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // Chunks of models and updates, a mebibyte each, come and go on many threads and would leave holes in the
  // heap.
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  // Few threads allocate, and those of gRPC free what others allocated.
  mallopt(M_ARENA_MAX, 2);
  // A peer's connection is a descriptor, and so is a file of the store: the usual 1,024 are too few for both.
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
