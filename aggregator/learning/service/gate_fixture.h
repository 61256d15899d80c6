// A gate on a thread of its own, for tests. No time passes but the test's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <future>

#include "aggregator/learning/service/gate.h"
#include "core/runtime/clock.h"

namespace tributary::learning {

class GateFixture : public ::testing::Test {
 protected:
  explicit GateFixture(std::size_t capacity) : gate_(capacity, thread_, clock_) {
    thread_.Start("gate", [] { return CommandThread::kNever; });
  }

  // Does this on the gate's thread, after all that was asked before.
  void Do(const std::function<void()>& what) {
    std::promise<void> done;
    thread_.Post([&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  }

  runtime::ManualClock clock_{0};
  CommandThread thread_{clock_};
  Gate gate_;
};

}  // namespace tributary::learning
