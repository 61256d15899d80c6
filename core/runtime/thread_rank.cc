#include "core/runtime/thread_rank.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/runtime/log.h"

namespace tributary::runtime {
namespace {

constexpr const char* kTasks = "/proc/self/task";

}  // namespace

void EnterThread(const std::string& name, ThreadRank rank) {
  // The thread's own on Linux, although POSIX says the process's. Beyond 19 the kernel takes 19.
  errno = 0;
  if (rank != ThreadRank::kFusion && nice(NiceLevels(rank)) == -1 && errno != 0) {
    LogWarning("thread {} cannot give way to others: {}", name, std::strerror(errno));
  }
  prctl(PR_SET_NAME, name.c_str());  // last: a thread that has its name has its rank
}

ForeignThreads::ForeignThreads(std::string name, ThreadRank rank)
    : name_(std::move(name)), rank_(rank), tasks_(open(kTasks, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

void ForeignThreads::Look() {
  // A folder has a link for each folder in it. A thread that has just started may have no name yet.
  struct stat tasks {};
  if (fstat(tasks_.get(), &tasks) != 0) return;
  const bool more = std::exchange(threads_, tasks.st_nlink) != tasks.st_nlink;
  if (!std::exchange(again_, more) && !more) return;
  const int nice = getpriority(PRIO_PROCESS, 0) + NiceLevels(rank_);
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(kTasks, error)) {
    std::string name;
    std::getline(std::ifstream(each.path() / "comm"), name);
    if (name != name_ || !ranked_.insert(each.path().filename()).second) continue;
    setpriority(PRIO_PROCESS, static_cast<id_t>(std::stoul(each.path().filename())), nice);
  }
}

}  // namespace tributary::runtime
