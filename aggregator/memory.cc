#include "aggregator/memory.h"

#include <malloc.h>

namespace tributary {

void TuneMemory() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  // Few threads allocate, and those of gRPC free what others allocated.
  mallopt(M_ARENA_MAX, 2);
}

}  // namespace tributary
