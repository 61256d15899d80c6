// Memory for the models that operators are sending.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tributary::learning {

// Thread-safe. All models under way share it: who sends half a model and waits leaves nothing for another.
class ModelBudget {
 public:
  explicit ModelBudget(std::size_t bytes) : bytes_(bytes) {}

  // False, and counted: there is not so much left.
  bool Take(std::size_t bytes) {
    std::size_t taken = taken_;
    while (bytes <= bytes_ - taken) {
      if (taken_.compare_exchange_weak(taken, taken + bytes)) return true;
    }
    ++refused_;
    return false;
  }
  void GiveBack(std::size_t bytes) { taken_ -= bytes; }

  std::size_t bytes() const { return bytes_; }
  std::uint64_t refused() const { return refused_; }

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> taken_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
};

}  // namespace tributary::learning
