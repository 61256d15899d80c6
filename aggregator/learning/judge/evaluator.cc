#include "aggregator/learning/judge/evaluator.h"

#include <algorithm>
#include <future>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/nn/encoder/encoder_file.h"
#include "core/runtime/log.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

absl::StatusOr<std::string> ReadAll(OpenModel model) {
  std::string file(model.record.file.bytes, '\0');
  RETURN_IF_ERROR(model.file.Read(file.data(), file.size()).status());
  return file;
}

// So many images are a fraction of a second, for a stop to be heard.
constexpr std::size_t kSlice = 1'024;

absl::StatusOr<std::vector<float>> FeaturesOf(nn::SelfSupervisedTrainer& trainer, const images::ImageSet& set,
                                              const std::stop_token& stop) {
  std::vector<float> features;
  std::span<const std::uint8_t> rest = set.pixels;
  while (!rest.empty()) {
    if (stop.stop_requested()) return absl::CancelledError("the evaluation was stopped");
    const std::span<const std::uint8_t> slice = rest.first(std::min(rest.size(), kSlice * set.image_size()));
    const std::vector<float> some = trainer.Features(slice);
    features.insert(features.end(), some.begin(), some.end());
    rest = rest.subspan(slice.size());
  }
  return features;
}

absl::StatusOr<nn::EncoderEvaluation> Evaluate(nn::SelfSupervisedTrainer& trainer,
                                               const EvaluationImages& images, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::vector<float> train, FeaturesOf(trainer, images.train, stop));
  ASSIGN_OR_RETURN(const std::vector<float> test, FeaturesOf(trainer, images.test, stop));
  return nn::EvaluateFeatures({train, images.train.labels}, {test, images.test.labels},
                              trainer.options().encoder.feature_count());
}

}  // namespace

Evaluator::Evaluator(Coordinator& coordinator, EvaluationImages images)
    : coordinator_(coordinator), images_(std::move(images)) {}

std::shared_ptr<Evaluator> Evaluator::Start(Coordinator& coordinator, EvaluationImages images) {
  auto evaluator = std::shared_ptr<Evaluator>(new Evaluator(coordinator, std::move(images)));
  evaluator->thread_ = std::jthread([&evaluator = *evaluator](std::stop_token stop) {
    // Figures can wait, rounds cannot.
    runtime::EnterThread("evaluation", runtime::ThreadRank::kSpare);
    evaluator.Run(stop);
  });
  coordinator.board().Add(evaluator);
  for (const auto& record : coordinator.board().Runs()) evaluator->OnChange(record->run.name());
  return evaluator;
}

Evaluator::~Evaluator() { Stop(); }

void Evaluator::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Evaluator::OnChange(const std::string& run) {
  runtime::MutexLock lock(mutex_);
  // With the lock, so that calls act in the order of what they see.
  const auto record = coordinator_.board().Find(run);
  if (record == nullptr) {  // deleted: another one may get its name
    seen_.erase(run);
    wanted_.erase(run);
    deleted_.push_back(run);
    changed_.notify_one();
    return;
  }
  if (!record->to_judge) return;
  std::uint32_t& seen = seen_[run];
  if (*record->to_judge <= seen) return;
  seen = *record->to_judge;
  if (!wanted_.insert_or_assign(run, seen).second) ++skipped_;
  changed_.notify_one();
}

void Evaluator::Run(std::stop_token stop) {
  for (;;) {
    std::pair<std::string, std::uint32_t> next;
    {
      runtime::MutexLock lock(mutex_);
      const auto news = [this]() REQUIRES(mutex_) { return !wanted_.empty() || !deleted_.empty(); };
      if (!changed_.wait(lock, stop, news)) return;
      for (const std::string& run : std::exchange(deleted_, {})) baselines_.erase(run);
      if (wanted_.empty()) continue;
      next = *wanted_.begin();
      wanted_.erase(wanted_.begin());
    }
    const absl::StatusOr<v1::Evaluation> judgement = Judge(next.first, next.second, stop);
    if (stop.stop_requested()) return;
    if (IsDeleted(next.first)) continue;
    if (!judgement.ok()) {
      runtime::LogWarning("run {}: round {} cannot be evaluated: {}", next.first, next.second,
                          std::string(judgement.status().message()));
      coordinator_.AddEvaluation(next.first, next.second, std::nullopt);
      continue;
    }
    runtime::LogInfo("run {}: round {}: linear probe {:.1f} % (random encoder {:.1f} %), kNN {:.1f} %",
                     next.first, next.second, 100 * judgement->linear_probe(),
                     100 * judgement->random_linear_probe(), 100 * judgement->knn());
    coordinator_.AddEvaluation(next.first, next.second, *judgement);
  }
}

bool Evaluator::IsDeleted(const std::string& run) {
  const runtime::MutexLock lock(mutex_);
  return std::ranges::find(deleted_, run) != deleted_.end();
}

absl::StatusOr<v1::Evaluation> Evaluator::Judge(const std::string& run, std::uint32_t round,
                                                const std::stop_token& stop) {
  std::promise<absl::StatusOr<OpenModel>> promise;
  std::future<absl::StatusOr<OpenModel>> answer = promise.get_future();
  coordinator_.OpenModelAfter(
      run, round, [&promise](absl::StatusOr<OpenModel> model) { promise.set_value(std::move(model)); });
  ASSIGN_OR_RETURN(OpenModel model, answer.get());
  ASSIGN_OR_RETURN(const std::string file, ReadAll(std::move(model)));
  ASSIGN_OR_RETURN(const nn::EncoderFile encoder, nn::DecodeEncoder(file));
  ASSIGN_OR_RETURN(const auto trainer, nn::SelfSupervisedTrainer::Create(encoder.options));
  if (const nn::ImageShape taken = encoder.options.encoder.image(); images_.train.shape() != taken) {
    return absl::InvalidArgumentError(fmt::format("the operator's images are {}, the model takes {}",
                                                  images_.train.shape().Text(), taken.Text()));
  }
  RETURN_IF_ERROR(trainer->SetParameters(encoder.parameters));
  ASSIGN_OR_RETURN(const nn::EncoderEvaluation trained, Evaluate(*trainer, images_, stop));
  ASSIGN_OR_RETURN(const nn::EncoderEvaluation random, Baseline(run, encoder.options, stop));
  v1::Evaluation evaluation;
  evaluation.set_linear_probe(trained.linear_accuracy);
  evaluation.set_knn(trained.knn_accuracy);
  evaluation.set_spread(trained.spread);
  evaluation.set_random_linear_probe(random.linear_accuracy);
  evaluation.set_random_knn(random.knn_accuracy);
  evaluation.set_random_spread(random.spread);
  evaluation.set_test_images(static_cast<std::uint32_t>(images_.test.count()));
  return evaluation;
}

absl::StatusOr<nn::EncoderEvaluation> Evaluator::Baseline(const std::string& run,
                                                          const nn::SelfSupervisedOptions& options,
                                                          const std::stop_token& stop) {
  if (const auto known = baselines_.find(run); known != baselines_.end()) return known->second;
  ASSIGN_OR_RETURN(const auto random, nn::SelfSupervisedTrainer::Create(options));
  // A random encoder has seen no batches: without this its norms would do nothing.
  random->CalibrateStatistics(images_.train.pixels);
  ASSIGN_OR_RETURN(const nn::EncoderEvaluation evaluation, Evaluate(*random, images_, stop));
  return baselines_.emplace(run, evaluation).first->second;
}

}  // namespace tributary::learning
