// How often the classes that were watched are the true ones, alone and by the vote of ten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace tributary::cli {

// Fractions are 0 while nothing has been counted.
struct ClassFigures {
  std::uint64_t judged = 0;   // estimates whose class is known
  double accuracy = 0;        // fraction whose likeliest class is the true one
  double nll = 0;             // mean of -log p(true class), nats; log c for a guess among c classes
  std::uint64_t votes = 0;    // from a subject's tenth estimate in a row with one true class on
  double voted_accuracy = 0;  // fraction of the votes that the true class wins
};

// One thread's. Subjects come from a peer: votes are kept for the first kMaxVoters of them.
class ClassJudgement {
 public:
  static constexpr std::size_t kVotes = 10;
  static constexpr std::size_t kMaxVoters = 4096;

  // The log-probabilities of a subject's estimate, at least one; `truth` is an index into them. A subject's
  // estimates come in the order of their slots.
  void Add(std::uint32_t subject, std::span<const float> log_probabilities, std::size_t truth);

  ClassFigures figures() const;

 private:
  // The likeliest classes of the latest estimates that share one true class.
  struct Ballot {
    std::size_t truth = 0;
    std::size_t estimates = 0;  // since the true class changed
    std::array<std::size_t, kVotes> classes = {};
  };

  std::uint64_t judged_ = 0;
  std::uint64_t right_ = 0;
  std::uint64_t votes_ = 0;
  std::uint64_t votes_won_ = 0;
  double nll_sum_ = 0;
  std::unordered_map<std::uint32_t, Ballot> ballots_;
};

}  // namespace tributary::cli
