// The one lock type of the project, annotated for Clang's thread-safety analysis.
#pragma once

#include <mutex>

#include "absl/base/thread_annotations.h"  // Abseil defines GUARDED_BY with the same meaning

#if defined(__clang__)
#define TRIBUTARY_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TRIBUTARY_THREAD_ANNOTATION(x)
#endif

#define REQUIRES(...) TRIBUTARY_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) TRIBUTARY_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace tributary::runtime {

class TRIBUTARY_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() TRIBUTARY_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() TRIBUTARY_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds a Mutex for a scope. It is BasicLockable, so std::condition_variable_any can wait on it.
class TRIBUTARY_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TRIBUTARY_THREAD_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() TRIBUTARY_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() TRIBUTARY_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() TRIBUTARY_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace tributary::runtime
