#include "node/learner/external_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/nn/kernel/random_stream.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"
#include "core/wire/trainer_stream.h"
#include "node/learner/node_seed.h"

namespace tributary::learner {
namespace {

constexpr std::uint64_t kChunksUnderWay = 4 << 20;  // messages of 1 MiB, with gRPC's copies

std::map<absl::StatusCode, runtime::Counter*> FailureCounters(runtime::Metrics& metrics) {
  std::map<absl::StatusCode, runtime::Counter*> counters;
  for (const auto& [code, reason] : {std::pair{absl::StatusCode::kUnavailable, "gone"},
                                     std::pair{absl::StatusCode::kDeadlineExceeded, "silent"},
                                     std::pair{absl::StatusCode::kInvalidArgument, "malformed"},
                                     std::pair{absl::StatusCode::kOutOfRange, "not_finite"},
                                     std::pair{absl::StatusCode::kUnknown, "failed"}}) {
    counters[code] =
        &metrics.AddCounter("tributary_learner_trainer_failures_total",
                            "Calls of the program that trains which failed.", {{"reason", reason}});
  }
  return counters;
}

}  // namespace

ExternalTrainer::ExternalTrainer(const ExternalTrainerOptions& options, std::string node,
                                 runtime::Metrics& metrics)
    : options_(options),
      node_(std::move(node)),
      failures_(FailureCounters(metrics)),
      client_(options.socket, options.silence_ns) {}

absl::Status ExternalTrainer::Count(absl::Status failure) {
  const auto counter = failures_.find(failure.code());
  if (counter != failures_.end()) counter->second->Increment();
  return failure;
}

absl::Status ExternalTrainer::Describe(const std::stop_token& stop) {
  auto said = client_.Describe(stop);
  if (!said.ok()) return Count(said.status());
  name_ = said->name();
  sample_count_ = said->sample_count();
  return absl::OkStatus();
}

absl::Status ExternalTrainer::AwaitReady(const std::stop_token& stop) {
  for (bool first = true;; first = false) {
    const absl::Status status = Describe(stop);
    if (status.ok() || absl::IsCancelled(status) || stop.stop_requested()) return status;
    if (first) runtime::LogWarning("waits for the program that trains: {}", std::string(status.message()));
  }
}

absl::StatusOr<TrainingPlan> ExternalTrainer::Plan(const wire::TrainTask& task,
                                                   const parameters::TensorSet& model) {
  const absl::Status described = Describe(std::stop_token());
  if (absl::IsInvalidArgument(described)) return absl::UnavailableError(described.message());
  RETURN_IF_ERROR(described);
  if (const std::string& wanted = task.train.settings().trainer(); wanted != name_) {
    return absl::FailedPreconditionError(
        fmt::format("the program of this node trains {}, the run {}", name_, wire::PeerText(wanted)));
  }
  tensors_.clear();
  for (const auto& [name, tensor] : model.tensors) tensors_.push_back({name, tensor.shape});
  return TrainingPlan{.bytes = sizeof(float) * task.train.element_count() + kChunksUnderWay,
                      .what = fmt::format("an update of {} parameters", task.train.element_count())};
}

absl::Status ExternalTrainer::Train(const wire::TrainTask& task, std::span<const float> global,
                                    const std::stop_token& withdrawn, std::span<float> update,
                                    v1::UpdateMetrics& metrics) {
  const std::uint64_t seed =
      nn::RandomStream::Of(NodeSeed(task.train.settings().seed(), node_), task.round).Bits();
  trained_.resize(global.size());
  auto done = client_.Train(wire::TrainerTaskToWire(task, seed, tensors_), global, withdrawn, trained_);
  if (!done.ok()) return Count(done.status());
  std::ranges::transform(trained_, global, update.begin(), std::minus());
  if (!std::ranges::all_of(update, [](float value) { return std::isfinite(value); })) {
    return Count(absl::OutOfRangeError("a trained parameter is too far from the model's"));
  }
  metrics.set_loss(done->loss());
  if (done->has_held_out_accuracy()) metrics.set_held_out_accuracy(done->held_out_accuracy());
  return absl::OkStatus();
}

}  // namespace tributary::learner
