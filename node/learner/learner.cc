#include "node/learner/learner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/parameters/fixed_point.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"
#include "core/parameters/update_encoding.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"
#include "google/protobuf/util/message_differencer.h"

namespace tributary::learner {
namespace {

link::FederationClientOptions Capable(link::FederationClientOptions options, std::size_t images) {
  options.sample_count = images;
  options.secure_aggregation = true;
  return options;
}

// Errors: DataLoss for another model than the task's; read errors.
absl::StatusOr<nn::EncoderFile> ModelOf(const wire::TrainTask& task, std::string file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  std::string().swap(file);  // an assignment would keep its memory
  const parameters::Sha256 sha = parameters::ParameterIdentity(set);
  if (task.train.model_sha256() != std::string_view(reinterpret_cast<const char*>(sha.data()), sha.size())) {
    return absl::DataLossError("the model's parameters are not those that the task names");
  }
  ASSIGN_OR_RETURN(nn::EncoderFile model, nn::EncoderFromTensors(set));
  if (model.parameters.size() != task.train.element_count()) {
    return absl::InvalidArgumentError(fmt::format("a model of {} parameters, the task says {}",
                                                  model.parameters.size(), task.train.element_count()));
  }
  return model;
}

// `for_good`: every task of the run would be declined.
v1::DeclineTaskRequest Because(v1::DeclineReason reason, bool for_good = false) {
  v1::DeclineTaskRequest decline;
  decline.set_reason(reason);
  decline.set_for_good(for_good);
  return decline;
}

}  // namespace

Learner::Learner(LearnerOptions options, images::ImageSet images, const runtime::Clock& clock,
                 runtime::Metrics& metrics)
    : options_(std::move(options)),
      images_(std::move(images)),
      clock_(clock),
      metrics_(metrics),
      memory_(options_.memory_bytes, options_.reserved_bytes),
      client_(std::make_unique<link::FederationClient>(Capable(options_.client, images_.count()), clock)) {
  metrics_.Register(*client_);
}

Learner::~Learner() { Stop(); }

void Learner::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void Learner::Stop() {
  client_->Stop();
  if (thread_.joinable()) thread_.join();
}

void Learner::Run() {
  while (const auto assignment = client_->Next()) {
    std::optional<v1::DeclineTaskRequest> decline;
    const absl::Status status = DoRoundInMemory(*assignment, decline);
    const bool withdrawn = absl::IsCancelled(status);
    const bool failed = !status.ok() && !withdrawn;
    counted_.withdrawn += withdrawn;
    counted_.failed += failed;
    metrics_.Publish(counted_);
    if (failed) {
      Say(spdlog::level::err,
          fmt::format("round {} of {}: {}", assignment->task.round, assignment->task.run, status.ToString()));
      if (decline) Decline(*assignment, *decline, std::string(status.message()));
    }
    client_->Finish(*assignment);
  }
}

void Learner::Decline(const link::FederationClient::Assignment& assignment, v1::DeclineTaskRequest decline,
                      std::string message) {
  decline.set_message(std::move(message));
  metrics_.Declined(decline.reason()).Increment();
  const absl::Status said = client_->Decline(assignment, decline);
  const wire::TrainTask& task = assignment.task;
  if (said.ok()) {
    Say(spdlog::level::warn,
        fmt::format("round {} of {}: told the aggregator that this node cannot do it{}", task.round, task.run,
                    decline.for_good()
                        ? "; it asks again after this node has restarted or declares something else"
                        : ""));
  } else if (!absl::IsCancelled(said)) {
    Say(spdlog::level::warn,
        fmt::format("round {} of {}: cannot tell the aggregator that this node declines: {}", task.round,
                    task.run, said.ToString()));
  }
}

void Learner::Say(spdlog::level::level_enum level, const std::string& line) {
  if (const auto more = lines_.Admit(clock_.SteadyNs())) spdlog::log(level, "{}{}", line, *more);
}

absl::Status Learner::DoRoundInMemory(const link::FederationClient::Assignment& assignment,
                                      std::optional<v1::DeclineTaskRequest>& decline) {
  // The run chooses network and batch; the memory is this board's.
  try {
    return DoRound(assignment, decline);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  workload_.reset();
  decline = Because(v1::DECLINE_REASON_MEMORY, true);
  return absl::ResourceExhaustedError(fmt::format("no memory for {} parameters and a batch of {}",
                                                  assignment.task.train.element_count(),
                                                  assignment.task.train.settings().batch()));
}

absl::Status Learner::DoRound(const link::FederationClient::Assignment& assignment,
                              std::optional<v1::DeclineTaskRequest>& decline) {
  const wire::TrainTask& task = assignment.task;
  if (!IsPreparedFor(task)) Forget();
  decline = Because(v1::DECLINE_REASON_MEMORY, true);
  RETURN_IF_ERROR(Afford(task));
  decline = Because(v1::DECLINE_REASON_FETCH);
  ASSIGN_OR_RETURN(std::string file, client_->FetchModel(assignment));
  const absl::StatusOr<nn::EncoderFile> model = ModelOf(task, std::move(file));
  // A wrong network is the run's fault; damage is this file's.
  decline = Because(v1::DECLINE_REASON_MODEL, absl::IsInvalidArgument(model.status()));
  if (!model.ok()) return model.status();
  const LocalTrainingOptions local =
      LocalTrainingOf(task, model->options, options_.client.node, options_.buffer);
  decline = Because(v1::DECLINE_REASON_MEMORY, true);
  RETURN_IF_ERROR(Afford(task, local));
  decline = Because(v1::DECLINE_REASON_IMAGES, true);
  RETURN_IF_ERROR(Prepare(task, local));
  update_.resize(model->parameters.size());
  decline = Because(v1::DECLINE_REASON_TRAINING);
  const std::int64_t begin_ns = clock_.SteadyNs();
  const auto withdrawn = [&assignment] { return assignment.withdrawn.stop_requested(); };
  ASSIGN_OR_RETURN(const SelfSupervisedWorkload::Outcome outcome,
                   workload_->Train(task.round - 1, task.train.settings().local_steps(), model->parameters,
                                    withdrawn, update_));
  v1::UpdateMetrics training;
  training.set_loss(outcome.loss);
  training.set_spread(outcome.spread);
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
  return workload_ != nullptr && prepared_for_.run == task.run &&
         prepared_for_.train.schema_sha256() == task.train.schema_sha256() &&
         google::protobuf::util::MessageDifferencer::Equals(prepared_for_.train.settings(),
                                                            task.train.settings());
}

void Learner::Forget() {
  workload_.reset();
  for (std::vector<float>* values : {&update_, &residual_, &remainder_}) *values = std::vector<float>();
  runtime::ReturnFreedMemory();
  memory_.Measure();
}

absl::Status Learner::Afford(const wire::TrainTask& task) {
  absl::Status status =
      memory_.Afford(ModelBytes(task), fmt::format("a model of {} parameters", task.train.element_count()));
  counted_.needed_bytes = memory_.needed();
  counted_.available_bytes = memory_.available();
  return status;
}

absl::Status Learner::Afford(const wire::TrainTask& task, const LocalTrainingOptions& training) {
  const std::uint64_t bytes = RoundBytes(task, training, images_.count(), !options_.state_file.empty());
  const nn::EncoderOptions& encoder = training.trainer.encoder;
  absl::Status status = memory_.Afford(
      bytes, fmt::format("a batch of {} images of {} through {} channels", training.trainer.batch,
                         encoder.image().Text(), fmt::join(encoder.channels, ", ")));
  counted_.needed_bytes = memory_.needed();
  return status;
}

absl::Status Learner::Prepare(const wire::TrainTask& task, const LocalTrainingOptions& training) {
  if (IsPreparedFor(task)) return absl::OkStatus();
  std::vector<std::uint32_t> all(images_.count());
  std::iota(all.begin(), all.end(), 0U);
  ASSIGN_OR_RETURN(workload_, SelfSupervisedWorkload::Create(images_, std::move(all), training));
  prepared_for_ = task;
  Say(spdlog::level::info,
      fmt::format("this node takes part in run {} with {}, {}, from round {}", task.run,
                  runtime::Counted(images_.count(), "image"),
                  runtime::Counted(task.train.element_count(), "parameter"), task.round));
  if (const absl::Status status = Restore(task); !status.ok() && !absl::IsNotFound(status)) {
    Say(spdlog::level::warn, fmt::format("{}: the learner starts without its saved state: {}",
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
  if (task.train.settings().ema_lambda() > 0 && !state.local.empty()) {
    RETURN_IF_ERROR(workload_->SetLocal(state.local));
  }
  if (task.train.settings().method() == "byol" && !state.target.empty()) {
    RETURN_IF_ERROR(workload_->SetTarget(state.target));
  }
  return options_.buffer > 0 ? workload_->SetBuffered(state.buffer) : absl::OkStatus();
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
  const double weight = task.train.uniform_weight() ? 1 : static_cast<double>(images_.count());
  parameters::ToFixedPoint(update_, parameters::FixedPointFactor(task.fixed_point, weight), words);
  v1::UpdateHeader said;
  said.set_sample_count(images_.count());
  *said.mutable_metrics() = training;
  return client_->SubmitMasked(assignment, words, std::move(said));
}

absl::Status Learner::EndRound(const wire::TrainTask& task, const link::SubmitAnswer& answer,
                               const v1::UpdateMetrics& training) {
  if (!answer.accepted()) {
    const std::string reason = wire::EnumLabel(answer.reason());
    metrics_.Refused(reason).Increment();
    ++counted_.refused;
    Say(spdlog::level::warn, fmt::format("round {} of {}: the update was refused ({}): {}", task.round,
                                         task.run, reason, wire::PeerText(answer.message())));
    return absl::OkStatus();
  }
  workload_->EndRound();
  ++counted_.accepted;
  if (task.masking) ++counted_.masked;
  counted_.round = task.round;
  counted_.buffered = workload_->buffered().size();
  counted_.dropped_images = workload_->dropped_images();
  if (!task.masking && task.train.settings().encoding() != v1::UPDATE_ENCODING_FLOAT32) {
    residual_.resize(remainder_.size());
    residual_.swap(remainder_);
  }
  Say(spdlog::level::info,
      fmt::format("round {} of {}: update accepted; loss {:.3f}, spread {:.2f}, trained for {:.1f} s",
                  task.round, task.run, training.loss(), training.spread(), training.seconds()));
  return Keep(task.run);
}

absl::Status Learner::Keep(const std::string& run) {
  const std::span<const float> local = workload_->local();
  const std::span<const images::KeptImage> buffered = workload_->buffered();
  const std::span<const float> target = workload_->target();
  const bool nothing = residual_.empty() && local.empty() && target.empty() && buffered.empty();
  if (options_.state_file.empty() || nothing) return absl::OkStatus();
  return runtime::WriteFileAtomically(options_.state_file,
                                      EncodeLearnerState({run,
                                                          residual_,
                                                          {local.begin(), local.end()},
                                                          {buffered.begin(), buffered.end()},
                                                          {target.begin(), target.end()}}));
}

}  // namespace tributary::learner
