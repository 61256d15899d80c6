#include "core/runtime/thread_rank.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/runtime/log.h"

namespace tributary::runtime {

void EnterThread(const std::string& name, ThreadRank rank) {
  // The thread's own on Linux, although POSIX says the process's. Beyond 19 the kernel takes 19.
  errno = 0;
  if (rank != ThreadRank::kFusion && nice(NiceLevels(rank)) == -1 && errno != 0) {
    LogWarning("thread {} cannot give way to others: {}", name, std::strerror(errno));
  }
  prctl(PR_SET_NAME, name.c_str());  // last: a thread that has its name has its rank
}

}  // namespace tributary::runtime
