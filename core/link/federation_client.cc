#include "core/link/federation_client.h"

#include <fmt/format.h>
#include <grpcpp/alarm.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <utility>

#include "core/learning/client_settings.h"
#include "core/link/federation_calls.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"

namespace tributary::link {
namespace {

constexpr std::int64_t kRepeatLogNs = 10'000'000'000;
// How often to look whether there is now something to take part with.
constexpr std::int64_t kLookNs = 100'000'000;

// What the aggregator must know of an update besides what the node says of it.
void Address(const FederationClientOptions& self, const wire::TrainTask& task, v1::UpdateHeader& header) {
  header.set_run(task.run);
  header.set_round(task.round);
  header.set_node(self.node);
  header.set_boot_id(self.boot_id);
  header.set_schema_sha256(task.train.schema_sha256());
  header.set_base_model_sha256(task.train.model_sha256());
}

absl::Status Withdrawn() { return absl::CancelledError("the task was withdrawn"); }

// A message that cannot be read ends the reading, but not the stream: the aggregator keeps it open.
grpc::Status EndOf(grpc::ClientReader<v1::ParticipateResponse>& stream,
                   const std::shared_ptr<grpc::ClientContext>& context) {
  constexpr std::chrono::seconds kLimit{2};
  const auto unread = std::make_shared<std::atomic<bool>>(false);
  grpc::Alarm alarm;
  alarm.Set(std::chrono::system_clock::now() + kLimit, [context, unread](bool expired) {
    if (!expired) return;
    *unread = true;
    context->TryCancel();
  });
  const grpc::Status status = stream.Finish();
  if (!*unread) return status;
  return {grpc::StatusCode::DATA_LOSS, "a task of the aggregator cannot be read"};
}

// 0 for a kind of task that this program does not know.
std::uint32_t RoundOf(const v1::ParticipateResponse& response) {
  switch (response.task_case()) {
    case v1::ParticipateResponse::kTrain:
      return response.train().round();
    case v1::ParticipateResponse::kAdvertiseKeys:
      return response.advertise_keys().round();
    case v1::ParticipateResponse::kShareKeys:
      return response.share_keys().round();
    case v1::ParticipateResponse::kUnmask:
      return response.unmask().round();
    default:
      return 0;
  }
}

}  // namespace

FederationClient::FederationClient(FederationClientOptions options, const runtime::Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      channel_(options_.aggregator, options_.tls),
      stub_(channel_),
      masking_(stub_, options_, clock),
      calls_(std::random_device{}()),
      wanted_(clock),
      outages_(fmt::format("no tasks from {} for {}", options_.aggregator, options_.node),
               fmt::format("{} gives {} its tasks again", options_.aggregator, options_.node)),
      sample_count_(options_.sample_count),
      thread_([this](std::stop_token stop) { Participate(std::move(stop)); }) {}

FederationClient::~FederationClient() { Stop(); }

absl::StatusOr<std::string> FederationClient::FetchModel(const Assignment& assignment) {
  std::string file;
  file.reserve(assignment.task.train.model_bytes());
  RETURN_IF_ERROR(Insist(assignment, [&] {
    const std::size_t before = file.size();
    absl::Status once = FetchModelOnce(*stub_.Get(), options_, assignment.task, assignment.withdrawn, file);
    received_bytes_ += file.size() - before;
    return once;
  }));
  return file;
}

absl::StatusOr<SubmitAnswer> FederationClient::Submit(const Assignment& assignment,
                                                      std::span<const float> update,
                                                      std::span<float> remainder,
                                                      const v1::UpdateMetrics& metrics) {
  if (remainder.size() != update.size()) {
    return absl::InvalidArgumentError("an update and its remainder are of one length");
  }
  if (assignment.task.masking) return absl::FailedPreconditionError("this task is answered with words");
  const v1::ClientSettings& settings = assignment.task.train.settings();
  v1::UpdateHeader header;
  Address(options_, assignment.task, header);
  header.set_encoding(settings.encoding());
  header.set_element_count(update.size());
  header.set_sample_count(Declared().sample_count);
  *header.mutable_metrics() = metrics;
  const parameters::UpdateEncoding encoding = learning::EncodingOf(settings);
  return Send(assignment, header, [&](std::size_t first, std::size_t count, std::string& payload) {
    const std::span<float> values = remainder.subspan(first, count);
    std::ranges::copy(update.subspan(first, count), values.begin());
    return parameters::EncodeChunk(encoding, values, payload);
  });
}

absl::StatusOr<SubmitAnswer> FederationClient::SubmitMasked(const Assignment& assignment,
                                                            std::span<std::int32_t> words,
                                                            v1::UpdateHeader said) {
  const absl::Status status = masking_.Mask(assignment.task, words);
  // The keys go with the task.
  if (!status.ok() && assignment.withdrawn.stop_requested()) return Withdrawn();
  RETURN_IF_ERROR(status);
  Address(options_, assignment.task, said);
  said.set_encoding(v1::UPDATE_ENCODING_FIXED32);
  said.set_element_count(words.size());
  return Send(assignment, said, [&](std::size_t first, std::size_t count, std::string& payload) {
    parameters::EncodeFixedChunk(words.subspan(first, count), payload);
    return absl::OkStatus();
  });
}

absl::StatusOr<SubmitAnswer> FederationClient::SubmitSum(const Assignment& assignment,
                                                         std::span<const std::int64_t> words,
                                                         v1::UpdateHeader said) {
  const bool wide = assignment.task.fixed_point.wide();
  Address(options_, assignment.task, said);
  said.set_encoding(wide ? v1::UPDATE_ENCODING_FIXED64 : v1::UPDATE_ENCODING_FIXED32);
  said.set_element_count(words.size());
  return Send(assignment, said, [&](std::size_t first, std::size_t count, std::string& payload) {
    const std::span<const std::int64_t> chunk = words.subspan(first, count);
    if (wide) {
      parameters::EncodeFixedChunk(chunk, payload);
    } else {
      parameters::EncodeFixedChunk(std::vector<std::int32_t>(chunk.begin(), chunk.end()), payload);
    }
    return absl::OkStatus();
  });
}

absl::Status FederationClient::Decline(const Assignment& assignment, const v1::DeclineTaskRequest& decline) {
  return Insist(assignment, [&] {
    return DeclineOnce(*stub_.Get(), options_, assignment.task.run, assignment.task.round, decline,
                       assignment.withdrawn);
  });
}

void FederationClient::SetSampleCount(std::uint64_t sample_count) {
  std::stop_source earlier(std::nostopstate);
  {
    const runtime::MutexLock lock(mutex_);
    if (std::exchange(sample_count_, sample_count) == sample_count) return;
    earlier = std::exchange(redeclared_, std::stop_source());
  }
  earlier.request_stop();
}

void FederationClient::Stop() {
  stopping_.request_stop();  // first: it waits for no answer
  wanted_.Stop();
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  SetState(v1::PARENT_STATE_STOPPED, last_error());
}

v1::ParentState FederationClient::state() const {
  const runtime::MutexLock lock(mutex_);
  return state_;
}

absl::Status FederationClient::last_error() const {
  const runtime::MutexLock lock(mutex_);
  return last_error_;
}

FederationClient::Counters FederationClient::counters() const {
  return {streams_,
          malformed_tasks_,
          received_bytes_,
          sent_bytes_,
          repeated_submissions_,
          masking_.lost_rounds(),
          masking_.refused_steps(),
          masking_.unusable_shares()};
}

absl::Status FederationClient::Insist(const Assignment& assignment,
                                      const std::function<absl::Status()>& attempt) {
  calls_.Recovered();
  while (!assignment.withdrawn.stop_requested()) {
    absl::Status status = attempt();
    if (status.ok() || !Reconnect::MayPass(status)) return status;
    if (assignment.withdrawn.stop_requested()) break;
    runtime::LogDebug("round {} of {}: {}; retrying", assignment.task.round, assignment.task.run,
                      status.ToString());
    Rest(calls_.DelayNs(status), assignment.withdrawn);
  }
  return Withdrawn();
}

absl::StatusOr<SubmitAnswer> FederationClient::Send(const Assignment& assignment,
                                                    const v1::UpdateHeader& header,
                                                    const EncodeElements& encode) {
  SubmitAnswer answer;
  bool first = true;
  RETURN_IF_ERROR(Insist(assignment, [&]() -> absl::Status {
    if (!std::exchange(first, false)) ++repeated_submissions_;
    ASSIGN_OR_RETURN(answer, SubmitOnce(*stub_.Get(), header, encode, assignment.withdrawn,
                                        stopping_.get_token(), sent_bytes_));
    if (answer.accepted() || !answer.try_again()) return absl::OkStatus();
    SayLater(assignment, answer);
    return absl::UnavailableError(answer.message());
  }));
  return answer;
}

void FederationClient::SayLater(const Assignment& assignment, const SubmitAnswer& answer) {
  const std::int64_t now_ns = clock_.SteadyNs();
  if (now_ns < next_later_log_ns_) return;
  next_later_log_ns_ = now_ns + kRepeatLogNs;
  runtime::LogWarning("round {} of {}: {} accepts no update now ({}): {}; retrying", assignment.task.round,
                      assignment.task.run, options_.aggregator, wire::EnumLabel(answer.reason()),
                      wire::PeerText(answer.message()));
}

void FederationClient::Rest(std::int64_t delay_ns, const std::stop_token& stop) {
  constexpr std::int64_t kLookForCertificatesNs = 500'000'000;
  const std::int64_t end_ns = clock_.SteadyNs() + delay_ns;
  for (std::int64_t left_ns = delay_ns; left_ns > 0 && !stop.stop_requested() && !channel_.renewed();
       left_ns = end_ns - clock_.SteadyNs()) {
    clock_.SleepFor(std::min(left_ns, kLookForCertificatesNs), stop);
  }
  if (!stop.stop_requested()) AwaitConnection(*channel_.Get());
}

// --- Own thread ---

void FederationClient::Participate(std::stop_token stop) {
  Reconnect reconnect(std::random_device{}());
  while (!stop.stop_requested()) {
    bool answered = false;
    const std::int64_t began_ns = clock_.SteadyNs();
    const Declaration declaration = Declared();
    if (options_.awaits_samples && declaration.sample_count == 0) {
      SetState(v1::PARENT_STATE_CONNECTING,
               absl::UnavailableError("this node does not know yet what it learns from"));
      clock_.SleepFor(kLookNs, stop);
      continue;
    }
    absl::Status status = ReadTasks(stop, declaration, answered);
    if (stop.stop_requested()) return;
    if (!answered) status = WithTlsAdvice(status, options_.tls != nullptr);
    const std::int64_t now_ns = clock_.SteadyNs();
    const bool ended = absl::IsNotFound(status) && answered;
    if (ended) reconnect.Recovered();
    if (answered) reconnect.Lasted(now_ns - began_ns);
    if (declaration.replaced.stop_requested()) continue;
    if (!ended) outages_.Lost(status, now_ns);
    SetState(Reconnect::IsRefusal(status) ? v1::PARENT_STATE_REFUSED : v1::PARENT_STATE_CONNECTING, status);
    Rest(reconnect.DelayNs(status), stop);
  }
}

FederationClient::Declaration FederationClient::Declared() const {
  const runtime::MutexLock lock(mutex_);
  return {sample_count_, redeclared_.get_token()};
}

absl::Status FederationClient::ReadTasks(const std::stop_token& stop, const Declaration& declaration,
                                         bool& answered) {
  v1::ParticipateRequest request;
  request.set_node(options_.node);
  request.set_boot_id(options_.boot_id);
  request.set_run(options_.run);
  request.set_sample_count(declaration.sample_count);
  request.mutable_workloads()->Assign(options_.workloads.begin(), options_.workloads.end());
  request.set_secure_aggregation(options_.secure_aggregation);
  request.set_partial_sums(options_.partial_sums);
  const auto context = std::make_shared<grpc::ClientContext>();
  const std::stop_callback cancel(stop, [&context] { context->TryCancel(); });
  const std::stop_callback again(declaration.replaced, [&context] { context->TryCancel(); });
  const auto reader = stub_.Get()->Participate(context.get(), request);
  bool ended = false;
  // Each its own: an aggregator could let what they keep grow without a limit.
  for (v1::ParticipateResponse response; reader->Read(&response); response = v1::ParticipateResponse()) {
    if (!answered) {
      answered = true;
      ++streams_;
      SetState(v1::PARENT_STATE_PARTICIPATING, absl::OkStatus());
      outages_.Found();
    }
    ended = response.has_ended();
    if (absl::Status status = Take(response, stop); !status.ok()) {
      context->TryCancel();
      reader->Finish();
      answered = false;  // or an answer that always fails would be retried without a pause
      return status;
    }
  }
  RETURN_IF_ERROR(FromGrpc(EndOf(*reader, context)));
  // After the end of a run the next one may start; there is no hurry.
  if (ended) return absl::NotFoundError("the run has ended");
  return absl::UnavailableError("the aggregator ended the stream");
}

absl::Status FederationClient::DeclineUnread(const v1::ParticipateResponse& response, const absl::Status& why,
                                             const std::stop_token& stop) {
  ++malformed_tasks_;
  if (const auto more = task_lines_.Admit(clock_.SteadyNs())) {
    runtime::LogError("{} sent a task that {} cannot do: {}{}", options_.aggregator, options_.node,
                      wire::PeerText(why.ToString()), *more);
  }
  const bool masking = absl::IsFailedPrecondition(why) || response.has_advertise_keys() ||
                       response.has_share_keys() || response.has_unmask();
  // A run's settings are the same in every round. Its masking is not: it depends on the other nodes of the
  // round.
  v1::DeclineTaskRequest decline;
  decline.set_reason(masking ? v1::DECLINE_REASON_KEYS : v1::DECLINE_REASON_TASK);
  decline.set_for_good(!masking);
  decline.set_message(std::string(why.message()));
  return DeclineOnce(*stub_.Get(), options_, response.run(), RoundOf(response), std::move(decline), stop);
}

template <class Step>
absl::Status FederationClient::Do(const Step& step, const std::stop_token& stop) {
  wanted_.KeepOnly(step.run, step.round);  // a task of another round is withdrawn
  return masking_.Answer(step, stop);
}

absl::Status FederationClient::Do(wire::TrainTask task, const std::stop_token& stop) {
  task.deadline_ns = clock_.SteadyNs() + task.train.left_ns();
  if (wanted_.GoesOn(task)) return absl::OkStatus();
  const absl::StatusOr<bool> can_mask = task.masking ? masking_.CanMask(task, stop) : true;
  if (can_mask.ok() && *can_mask) {
    wanted_.Replace(std::move(task));
  } else {
    wanted_.KeepOnly(task.run, task.round);
  }
  return can_mask.status();
}

absl::Status FederationClient::Take(const v1::ParticipateResponse& response, const std::stop_token& stop) {
  if (response.has_wait()) {
    wanted_.Wait(wire::PeerText(response.wait().reason()), false);
    return absl::OkStatus();
  }
  if (response.has_ended()) {
    const std::string reason = wire::PeerText(response.ended().reason());
    const bool news = wanted_.Wait(reason, true);
    if (const auto more = news ? task_lines_.Admit(clock_.SteadyNs()) : std::nullopt) {
      runtime::LogInfo("run {} has ended: {}{}", wire::PeerText(response.run()), reason, *more);
    }
    if (options_.on_ended) options_.on_ended({response.run(), reason, response.ended().finished()});
    return absl::OkStatus();
  }
  absl::StatusOr<wire::FederationTask> task = wire::TaskFromWire(response);
  if (!task.ok()) return DeclineUnread(response, task.status(), stop);
  return std::visit([&](auto&& each) { return Do(std::forward<decltype(each)>(each), stop); },
                    *std::move(task));
}

void FederationClient::SetState(v1::ParentState state, absl::Status error) {
  const runtime::MutexLock lock(mutex_);
  state_ = state;
  last_error_ = std::move(error);
}

}  // namespace tributary::link
