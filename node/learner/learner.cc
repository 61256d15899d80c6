#include "node/learner/learner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/parameters/fixed_point.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"
#include "core/parameters/update_encoding.h"
#include "core/runtime/file.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"
#include "google/protobuf/util/message_differencer.h"

namespace tributary::learner {
namespace {

link::FederationClientOptions Capable(link::FederationClientOptions options, const Trainer& trainer) {
  options.workloads = {std::string(trainer.workload())};
  options.sample_count = trainer.sample_count();
  options.awaits_samples = true;
  options.secure_aggregation = true;
  return options;
}

// Errors: DataLoss for another model than the task's; read errors.
absl::StatusOr<parameters::TensorSet> TensorsOf(const wire::TrainTask& task, std::string_view file) {
  ASSIGN_OR_RETURN(parameters::TensorSet set, parameters::DecodeSafetensors(file));
  const parameters::Sha256 sha = parameters::ParameterIdentity(set);
  if (task.train.model_sha256() != std::string_view(reinterpret_cast<const char*>(sha.data()), sha.size())) {
    return absl::DataLossError("the model's parameters are not those that the task names");
  }
  return set;
}

// As one vector. Errors: those of FlatModelOf; InvalidArgument for another number of elements.
absl::StatusOr<parameters::FlatModel> ParametersOf(const wire::TrainTask& task, parameters::TensorSet set) {
  ASSIGN_OR_RETURN(parameters::FlatModel model, parameters::FlatModelOf(std::move(set)));
  if (model.values.size() == task.train.element_count()) return model;
  return absl::InvalidArgumentError(fmt::format("a model of {} parameters, the task says {}",
                                                model.values.size(), task.train.element_count()));
}

// `for_good`: every task of the run would be declined.
v1::DeclineTaskRequest Because(v1::DeclineReason reason, bool for_good = false) {
  v1::DeclineTaskRequest decline;
  decline.set_reason(reason);
  decline.set_for_good(for_good);
  return decline;
}

// What a task is declined for that the trainer cannot plan. A wrong network is the run's fault; damage is
// this file's.
v1::DeclineTaskRequest UnlessPlanned(const absl::Status& planned) {
  if (absl::IsInvalidArgument(planned)) return Because(v1::DECLINE_REASON_MODEL, true);
  if (absl::IsFailedPrecondition(planned)) return Because(v1::DECLINE_REASON_TASK, true);
  return Because(absl::IsUnavailable(planned) ? v1::DECLINE_REASON_TRAINING : v1::DECLINE_REASON_MODEL);
}

}  // namespace

Learner::Learner(LearnerOptions options, std::unique_ptr<Trainer> trainer, const runtime::Clock& clock,
                 runtime::Metrics& metrics)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(metrics),
      trainer_(std::move(trainer)),
      memory_(options_.memory_bytes, options_.reserved_bytes),
      client_(std::make_unique<link::FederationClient>(Capable(options_.client, *trainer_), clock)) {
  metrics_.Register(*client_);
}

Learner::~Learner() { Stop(); }

void Learner::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Learner::Stop() {
  thread_.request_stop();
  client_->Stop();
  if (thread_.joinable()) thread_.join();
}

void Learner::DeclareSamples() {
  counted_.samples = trainer_->sample_count();
  metrics_.Publish(counted_);
  client_->SetSampleCount(counted_.samples);
}

void Learner::Run(const std::stop_token& stop) {
  if (!trainer_->AwaitReady(stop).ok()) return;
  DeclareSamples();
  runtime::LogInfo("{} learns from {}", options_.client.node,
                   runtime::Counted(trainer_->sample_count(), trainer_->sample_name()));
  while (const auto assignment = client_->Next()) {
    std::optional<v1::DeclineTaskRequest> decline;
    const absl::Status status = DoRoundInMemory(*assignment, decline);
    const bool withdrawn = absl::IsCancelled(status);
    const bool failed = !status.ok() && !withdrawn;
    counted_.withdrawn += withdrawn;
    counted_.failed += failed;
    metrics_.Publish(counted_);
    if (failed) {
      Say(runtime::LogLevel::kError,
          fmt::format("round {} of {}: {}", assignment->task.round, assignment->task.run, status.ToString()));
      if (decline) Decline(*assignment, *decline, std::string(status.message()));
    }
    client_->Finish(*assignment);
    DeclareSamples();
  }
}

void Learner::Decline(const link::FederationClient::Assignment& assignment, v1::DeclineTaskRequest decline,
                      std::string message) {
  decline.set_message(std::move(message));
  metrics_.Declined(decline.reason()).Increment();
  const absl::Status said = client_->Decline(assignment, decline);
  const wire::TrainTask& task = assignment.task;
  if (said.ok()) {
    Say(runtime::LogLevel::kWarning,
        fmt::format("round {} of {}: told the aggregator that this node cannot do it{}", task.round, task.run,
                    decline.for_good()
                        ? "; it asks again after this node has restarted or declares something else"
                        : ""));
  } else if (!absl::IsCancelled(said)) {
    Say(runtime::LogLevel::kWarning,
        fmt::format("round {} of {}: cannot tell the aggregator that this node declines: {}", task.round,
                    task.run, said.ToString()));
  }
}

void Learner::Say(runtime::LogLevel level, const std::string& line) {
  if (const auto more = lines_.Admit(clock_.SteadyNs())) runtime::Log(level, "{}{}", line, *more);
}

absl::Status Learner::DoRoundInMemory(const link::FederationClient::Assignment& assignment,
                                      std::optional<v1::DeclineTaskRequest>& decline) {
  // The run chooses network and batch; the memory is this board's.
  try {
    return DoRound(assignment, decline);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  Forget();
  decline = Because(v1::DECLINE_REASON_MEMORY, true);
  return absl::ResourceExhaustedError(fmt::format("no memory for {} parameters and a batch of {}",
                                                  assignment.task.train.element_count(),
                                                  assignment.task.train.settings().batch()));
}

absl::Status Learner::DoRound(const link::FederationClient::Assignment& assignment,
                              std::optional<v1::DeclineTaskRequest>& decline) {
  const wire::TrainTask& task = assignment.task;
  if (!IsPreparedFor(task)) Forget();
  decline = Because(v1::DECLINE_REASON_TASK, true);
  if (const std::string& workload = task.train.settings().workload(); workload != trainer_->workload()) {
    return absl::FailedPreconditionError(
        fmt::format("this node trains {}, the run {}", trainer_->workload(), wire::PeerText(workload)));
  }
  decline = Because(v1::DECLINE_REASON_MEMORY, true);
  RETURN_IF_ERROR(
      Afford(ModelBytes(task), fmt::format("a model of {} parameters", task.train.element_count())));
  decline = Because(v1::DECLINE_REASON_FETCH);
  ASSIGN_OR_RETURN(std::string file, client_->FetchModel(assignment));
  decline = Because(v1::DECLINE_REASON_MODEL);
  ASSIGN_OR_RETURN(parameters::TensorSet set, TensorsOf(task, file));
  file = std::string();  // training needs the memory
  const absl::StatusOr<TrainingPlan> plan = trainer_->Plan(task, set);
  decline = UnlessPlanned(plan.status());
  if (!plan.ok()) return plan.status();
  decline = Because(v1::DECLINE_REASON_MODEL, true);
  ASSIGN_OR_RETURN(const parameters::FlatModel model, ParametersOf(task, std::move(set)));
  const std::vector<float>& global = model.values;
  statistics_ = parameters::FindStatistics(model.layout.tensors);
  decline = Because(v1::DECLINE_REASON_MEMORY, true);
  RETURN_IF_ERROR(Afford(RoundBytes(task, *plan, !options_.state_file.empty()), plan->what));
  const absl::Status prepared = Prepare(task);
  decline = Because(
      absl::IsResourceExhausted(prepared) ? v1::DECLINE_REASON_MEMORY : v1::DECLINE_REASON_IMAGES, true);
  RETURN_IF_ERROR(prepared);
  update_.resize(global.size());
  decline = Because(v1::DECLINE_REASON_TRAINING);
  const std::int64_t begin_ns = clock_.SteadyNs();
  v1::UpdateMetrics training;
  RETURN_IF_ERROR(trainer_->Train(task, global, assignment.withdrawn, update_, training));
  training.set_seconds(1e-9 * static_cast<double>(clock_.SteadyNs() - begin_ns));
  training.set_steps(task.train.settings().local_steps());
  counted_.steps += training.steps();
  counted_.seconds += training.seconds();
  counted_.loss = training.loss();
  counted_.spread = training.spread();
  metrics_.Publish(counted_);  // sending lasts as long as the aggregator is out of reach
  AddResidualAndClip(task);
  decline = Because(v1::DECLINE_REASON_UPDATE);
  ASSIGN_OR_RETURN(const link::SubmitAnswer answer, Send(assignment, training));
  decline.reset();  // the aggregator has the update
  return EndRound(task, answer, training);
}

bool Learner::IsPreparedFor(const wire::TrainTask& task) const {
  return prepared_for_ && prepared_for_->run == task.run &&
         prepared_for_->train.schema_sha256() == task.train.schema_sha256() &&
         google::protobuf::util::MessageDifferencer::Equals(prepared_for_->train.settings(),
                                                            task.train.settings());
}

void Learner::Forget() {
  prepared_for_.reset();
  trainer_->Forget();
  for (std::vector<float>* values : {&update_, &residual_, &remainder_}) *values = std::vector<float>();
  runtime::ReturnFreedMemory();
  memory_.Measure();
}

absl::Status Learner::Afford(std::uint64_t bytes, const std::string& what) {
  absl::Status status = memory_.Afford(bytes, what);
  counted_.needed_bytes = memory_.needed();
  counted_.available_bytes = memory_.available();
  return status;
}

absl::Status Learner::Prepare(const wire::TrainTask& task) {
  if (IsPreparedFor(task)) return absl::OkStatus();
  RETURN_IF_ERROR(trainer_->Prepare());
  prepared_for_ = task;
  Say(runtime::LogLevel::kInfo,
      fmt::format("this node takes part in run {} with {}, {}, from round {}", task.run,
                  runtime::Counted(trainer_->sample_count(), trainer_->sample_name()),
                  runtime::Counted(task.train.element_count(), "parameter"), task.round));
  if (const absl::Status status = Restore(task); !status.ok() && !absl::IsNotFound(status)) {
    Say(runtime::LogLevel::kWarning, fmt::format("{}: the learner starts without its saved state: {}",
                                                 options_.state_file, status.ToString()));
  }
  return absl::OkStatus();
}

absl::Status Learner::Restore(const wire::TrainTask& task) {
  if (options_.state_file.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(options_.state_file));
  ASSIGN_OR_RETURN(LearnerState state, DecodeLearnerState(file));
  if (state.run != task.run) return absl::OkStatus();
  if (!state.residual.empty() && state.residual.size() != task.train.element_count()) {
    return absl::InvalidArgumentError("the error feedback that was kept is of another model");
  }
  residual_ = std::move(state.residual);
  return trainer_->Restore(task, state.trainer);
}

void Learner::AddResidualAndClip(const wire::TrainTask& task) {
  // Error feedback gains nothing in fixed point: the rounding is 2^-31 of the range.
  if (!task.masking) {
    for (std::size_t i = 0; i < residual_.size(); ++i) update_[i] += residual_[i];
  }
  const double clip_norm = task.train.settings().clip_norm();
  if (clip_norm == 0) return;
  const double norm = std::sqrt(parameters::SumOfSquares(update_));
  if (norm <= clip_norm) return;
  const auto scale = static_cast<float>(clip_norm / norm);
  for (float& value : update_) value *= scale;
}

absl::StatusOr<link::SubmitAnswer> Learner::Send(const link::FederationClient::Assignment& assignment,
                                                 const v1::UpdateMetrics& training) {
  if (assignment.task.masking) return SendMasked(assignment, training);
  remainder_.resize(update_.size());
  return client_->Submit(assignment, update_, remainder_, training);
}

absl::StatusOr<link::SubmitAnswer> Learner::SendMasked(const link::FederationClient::Assignment& assignment,
                                                       const v1::UpdateMetrics& training) {
  const wire::TrainTask& task = assignment.task;
  // Checks what the aggregator cannot: it sees only masked words.
  const parameters::RangeCheck range = parameters::CheckRange(update_, task.fixed_point.bound);
  if (range != parameters::RangeCheck::kGood) {
    const bool finite = range == parameters::RangeCheck::kOutOfRange;
    const std::string message = finite ? fmt::format("an element is larger than {}", task.fixed_point.bound)
                                       : "an element is not a finite number";
    Decline(assignment, Because(v1::DECLINE_REASON_UPDATE), message);
    link::SubmitAnswer refused;
    refused.set_reason(finite ? v1::SUBMIT_REFUSAL_OUT_OF_RANGE : v1::SUBMIT_REFUSAL_NOT_FINITE);
    refused.set_message(message);
    return refused;
  }
  std::vector<std::int32_t> words(update_.size());
  const double weight = task.train.uniform_weight() ? 1 : static_cast<double>(trainer_->sample_count());
  parameters::ToFixedPoint(update_, parameters::FixedPointFactor(task.fixed_point, weight), words);
  v1::UpdateHeader said;
  said.set_sample_count(trainer_->sample_count());
  *said.mutable_metrics() = training;
  return client_->SubmitMasked(assignment, words, std::move(said));
}

absl::Status Learner::EndRound(const wire::TrainTask& task, const link::SubmitAnswer& answer,
                               const v1::UpdateMetrics& training) {
  if (!answer.accepted()) {
    const std::string reason = wire::EnumLabel(answer.reason());
    metrics_.Refused(reason).Increment();
    ++counted_.refused;
    Say(runtime::LogLevel::kWarning,
        fmt::format("round {} of {}: the update was refused ({}): {}", task.round, task.run, reason,
                    wire::PeerText(answer.message())));
    return absl::OkStatus();
  }
  trainer_->EndRound();
  ++counted_.accepted;
  if (task.masking) ++counted_.masked;
  counted_.round = task.round;
  counted_.buffered = trainer_->buffered();
  counted_.dropped_images = trainer_->dropped();
  if (!task.masking && task.train.settings().encoding() != v1::UPDATE_ENCODING_FLOAT32) {
    residual_.resize(remainder_.size());
    residual_.swap(remainder_);
    // The next round measures them anew: what was not sent of them would count twice.
    for (const parameters::StatisticRange& range : statistics_) {
      std::ranges::fill(std::span(residual_).subspan(range.first, range.count), 0.0F);
    }
  }
  Say(runtime::LogLevel::kInfo,
      fmt::format("round {} of {}: update accepted; loss {:.3f}{}{}, trained for {:.1f} s", task.round,
                  task.run, training.loss(),
                  training.has_spread() ? fmt::format(", spread {:.2f}", training.spread()) : "",
                  training.has_held_out_accuracy()
                      ? fmt::format(", held out {:.1f} %", 100 * training.held_out_accuracy())
                      : "",
                  training.seconds()));
  return Keep(task.run);
}

absl::Status Learner::Keep(const std::string& run) {
  if (options_.state_file.empty()) return absl::OkStatus();
  parameters::TensorSet state = trainer_->State();
  if (residual_.empty() && state.tensors.empty()) return absl::OkStatus();
  return runtime::WriteFileAtomically(options_.state_file,
                                      EncodeLearnerState({run, residual_, std::move(state)}));
}

}  // namespace tributary::learner
