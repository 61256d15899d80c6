// What malloc keeps goes back to the system, whichever thread has freed it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "core/runtime/memory_limit.h"
#include "core/runtime/process.h"

namespace tributary::runtime {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// Takes 32 MiB, in pieces that malloc does not map by themselves, and frees them.
void TakeAndFree() {
  std::vector<void*> pieces;
  for (int i = 0; i < 512; ++i) {
    pieces.push_back(malloc(64 << 10));
    // The system gives memory at the first touch.
    for (int page = 0; page < 16; ++page) static_cast<volatile char*>(pieces.back())[page << 12] = 1;
  }
  for (void* piece : pieces) free(piece);
}

TEST(ReturnedMemory, IsThatOfEveryArena) {
#ifdef TRIBUTARY_SANITIZED
  GTEST_SKIP() << "the sanitizer has a malloc of its own";
#endif
  TuneProcess();
  const std::uint64_t before = ResidentBytes();
  // Threads that stay hold their arenas.
  std::promise<void> over;
  const std::shared_future<void> end = over.get_future().share();
  std::vector<std::jthread> threads;
  std::vector<std::future<void>> freed;
  for (int i = 0; i < 3; ++i) {
    auto done = std::make_shared<std::promise<void>>();
    freed.push_back(done->get_future());
    threads.emplace_back([done, end] {
      TakeAndFree();
      done->set_value();
      end.wait();
    });
  }
  for (std::future<void>& each : freed) each.wait();
  EXPECT_GT(ResidentBytes(), before + 32 * kMiB) << "malloc keeps it";
  ReturnFreedMemory();
  EXPECT_LT(ResidentBytes(), before + 2 * kMiB);
  over.set_value();
}

}  // namespace
}  // namespace tributary::runtime
