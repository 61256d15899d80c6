#include "core/runtime/thread_rank.h"

#include <sys/prctl.h>
#include <unistd.h>

namespace tributary::runtime {

void EnterThread(const std::string& name, ThreadRank rank) {
  // The thread's own on Linux, although POSIX says the process's. Beyond 19 the kernel takes 19.
  if (rank != ThreadRank::kFusion) static_cast<void>(!nice(NiceLevels(rank)));
  prctl(PR_SET_NAME, name.c_str());  // last: a thread that has its name has its rank
}

}  // namespace tributary::runtime
