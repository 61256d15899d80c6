// Memory for what travels: updates, models that operators send, models that are read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tributary::learning {

// The updates that are under way at once, by what each needs at most; further ones wait before their first
// chunk is read.
inline constexpr std::size_t kUploadBytes = std::size_t{32} << 20;
// Models that are read at once: a reader costs a descriptor, a chunk, and the chunk that gRPC is sending.
inline constexpr std::size_t kOpenModels = 64;
inline constexpr std::size_t kReadChunkBytes = std::size_t{256} << 10;
// Starting a run decodes its model and encodes it again, one run at a time.
inline constexpr std::size_t kCopiesOfAModel = 3;

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

// One model that comes in chunks, and its share of the budget. One thread at a time.
class SentModel {
 public:
  // The budget outlives it.
  explicit SentModel(ModelBudget& budget) : budget_(budget) {}
  ~SentModel() { budget_.GiveBack(bytes_); }
  SentModel(const SentModel&) = delete;
  SentModel& operator=(const SentModel&) = delete;

  // False: the budget has not so much left.
  bool Add(std::string chunk) {
    if (!budget_.Take(chunk.size())) return false;
    bytes_ += chunk.size();
    // Small chunks share a piece: a string for each byte would take many times the budget.
    if (!pieces_.empty() && pieces_.back().size() + chunk.size() <= kPieceBytes) {
      pieces_.back() += chunk;
    } else {
      pieces_.push_back(std::move(chunk));
    }
    return true;
  }

  // The whole model; the share stays taken. Gives each piece's memory back as it goes.
  std::string Join() {
    std::string model;
    model.reserve(bytes_);
    for (std::string& each : pieces_) model += std::exchange(each, std::string());
    pieces_.clear();
    return model;
  }

  std::size_t bytes() const { return bytes_; }
  std::size_t pieces() const { return pieces_.size(); }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

  ModelBudget& budget_;
  std::vector<std::string> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace tributary::learning
