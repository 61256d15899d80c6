// Judges the models of runs on labelled images of the aggregator's operator, beside the rounds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/learning/judge/evaluation_images.h"
#include "aggregator/learning/service/coordinator.h"
#include "core/nn/encoder/encoder_evaluation.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/runtime/mutex.h"

namespace tributary::learning {

// A linear probe, the nearest neighbours and the collapse check of every RunRecord::to_judge, with the random
// encoder beside it. Owns one thread and never holds a round: of a run whose rounds are quicker than it, it
// takes the newest and counts the others.
class Evaluator final : public RunBoard::Listener, public std::enable_shared_from_this<Evaluator> {
 public:
  // The coordinator outlives it, and knows that models are judged.
  static std::shared_ptr<Evaluator> Start(Coordinator& coordinator, EvaluationImages images);
  ~Evaluator() override;

  void OnChange(const std::string& run) override;
  // Gives up the judgement under way, within seconds.
  void Stop();

  std::uint64_t skipped_rounds() const { return skipped_.load(std::memory_order_relaxed); }

 private:
  Evaluator(Coordinator& coordinator, EvaluationImages images);

  void Run(std::stop_token stop);
  // Whether the run was deleted since its judgement began. Another run may have its name.
  bool IsDeleted(const std::string& run);
  absl::StatusOr<v1::Evaluation> Judge(const std::string& run, std::uint32_t round,
                                       const std::stop_token& stop);
  absl::StatusOr<nn::EncoderEvaluation> Baseline(const std::string& run,
                                                 const nn::SelfSupervisedOptions& options,
                                                 const std::stop_token& stop);

  Coordinator& coordinator_;
  const EvaluationImages images_;
  std::map<std::string, nn::EncoderEvaluation> baselines_;  // the own thread only, by run
  std::atomic<std::uint64_t> skipped_ = 0;

  runtime::Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::uint32_t> seen_ GUARDED_BY(mutex_);    // last round taken on, by run
  std::map<std::string, std::uint32_t> wanted_ GUARDED_BY(mutex_);  // newest round by run
  std::vector<std::string> deleted_ GUARDED_BY(mutex_);             // runs, since the thread last looked
  std::jthread thread_;
};

}  // namespace tributary::learning
