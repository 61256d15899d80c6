// Loaded before the system's library (LD_PRELOAD), this moves the wall clock of one process by the
// nanoseconds in the file that TRIBUTARY_CLOCK_SHIFT names. The test bed writes the file while the process
// runs; other clocks stay.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Null without a file: the clock stays as it is.
const std::atomic<std::int64_t>* MapShift() {
  const char* const path = std::getenv("TRIBUTARY_CLOCK_SHIFT");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const mapped = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t>*>(mapped);
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* now) noexcept {
  static const std::atomic<std::int64_t>* const shift = MapShift();
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, id, now));
  if (result != 0 || id != CLOCK_REALTIME || shift == nullptr) return result;
  const std::int64_t shifted_ns = now->tv_sec * kSecondNs + now->tv_nsec + shift->load();
  *now = {shifted_ns / kSecondNs, shifted_ns % kSecondNs};
  return 0;
}
