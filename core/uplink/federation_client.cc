#include "core/uplink/federation_client.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <random>
#include <thread>
#include <utility>

#include "core/runtime/mutex.h"
#include "core/uplink/channel.h"
#include "core/uplink/federation_calls.h"
#include "core/uplink/federation_convert.h"
#include "core/uplink/refusals.h"
#include "core/uplink/spool/reconnect.h"

namespace tributary {
namespace {

constexpr std::int64_t kRepeatLogNs = 10'000'000'000;

}  // namespace

class FederationClient::Impl {
 public:
  Impl(FederationClientOptions options, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        channel_(MakeChannel(options_.aggregator, options_.tls)),
        stub_(v1::FederationService::NewStub(channel_)),
        calls_(std::random_device{}()),
        thread_([this](std::stop_token stop) { Participate(std::move(stop)); }) {}

  ~Impl() { Stop(); }

  std::optional<Assignment> Next() {
    MutexLock lock(mutex_);
    while (!stopped_ && (!wanted_ || taken_)) changed_.wait(lock);
    if (stopped_) return std::nullopt;
    taken_ = true;
    return Assignment{*wanted_, withdrawal_.get_token()};
  }

  absl::StatusOr<std::string> FetchModel(const Assignment& assignment) {
    std::string file;
    file.reserve(assignment.task.model_bytes);
    const absl::Status status = Insist(assignment, [&] {
      const std::size_t before = file.size();
      absl::Status once = FetchModelOnce(*stub_, options_, assignment.task, assignment.withdrawn, file);
      received_bytes_ += file.size() - before;
      return once;
    });
    if (!status.ok()) return status;
    return file;
  }

  absl::StatusOr<SubmitAnswer> Submit(const Assignment& assignment, const FinishedTraining& training) {
    SubmitAnswer answer;
    bool first = true;
    const absl::Status status = Insist(assignment, [&]() -> absl::Status {
      if (!std::exchange(first, false)) ++repeated_submissions_;
      const auto attempt =
          SubmitOnce(*stub_, options_, assignment.task, training, assignment.withdrawn, sent_bytes_);
      if (!attempt.ok()) return attempt.status();
      answer = attempt->answer;
      return attempt->try_again ? absl::UnavailableError(answer.message) : absl::OkStatus();
    });
    if (!status.ok()) return status;
    return answer;
  }

  void Finish(const Assignment& assignment) {
    const MutexLock lock(mutex_);
    // Asked for something else meanwhile: that stands.
    if (wanted_ && taken_ && wanted_->SameWork(assignment.task)) wanted_.reset();
  }

  void Stop() {
    {
      const MutexLock lock(mutex_);
      stopped_ = true;
    }
    Withdraw();
    changed_.notify_all();
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    SetState(FederationState::kStopped, last_error());
  }

  FederationState state() const {
    const MutexLock lock(mutex_);
    return state_;
  }
  absl::Status last_error() const {
    const MutexLock lock(mutex_);
    return last_error_;
  }
  std::string waiting_for() const {
    const MutexLock lock(mutex_);
    return waiting_for_;
  }
  Counters counters() const {
    return {streams_, malformed_tasks_, received_bytes_, sent_bytes_, repeated_submissions_};
  }

 private:
  // Tries until it succeeds, cannot succeed or is no longer wanted.
  absl::Status Insist(const Assignment& assignment, const std::function<absl::Status()>& attempt) {
    calls_.Recovered();
    while (!assignment.withdrawn.stop_requested()) {
      absl::Status status = attempt();
      if (status.ok() || !Reconnect::MayPass(status)) return status;
      if (assignment.withdrawn.stop_requested()) break;
      spdlog::debug("round {} of {}: {}; trying again", assignment.task.round, assignment.task.run,
                    status.ToString());
      Rest(calls_.DelayNs(status), assignment.withdrawn);
    }
    return absl::CancelledError("the task was withdrawn");
  }

  void Rest(std::int64_t delay_ns, const std::stop_token& stop) {
    clock_.SleepUntil(clock_.UnixNs() + delay_ns, stop);
    if (!stop.stop_requested()) AwaitConnection(*channel_);
  }

  // --- Own thread ---

  void Participate(std::stop_token stop) {
    Reconnect reconnect(std::random_device{}());
    std::int64_t next_log_ns = 0;
    while (!stop.stop_requested()) {
      bool answered = false;
      const absl::Status status = ReadTasks(stop, answered);
      if (stop.stop_requested()) return;
      if (answered) reconnect.Recovered();
      const std::int64_t now_ns = clock_.SteadyNs();
      const bool ended = absl::IsNotFound(status) && answered;
      if (!ended && (state() == FederationState::kParticipating || now_ns >= next_log_ns)) {
        spdlog::warn("no tasks from {} for {}: {}; trying again", options_.aggregator, options_.node,
                     status.ToString());
        next_log_ns = now_ns + kRepeatLogNs;
      }
      SetState(Reconnect::IsRefusal(status) ? FederationState::kRefused : FederationState::kConnecting,
               status);
      Rest(reconnect.DelayNs(status), stop);
    }
  }

  // One stream, to its end.
  absl::Status ReadTasks(const std::stop_token& stop, bool& answered) {
    v1::ParticipateRequest request;
    request.set_node(options_.node);
    request.set_boot_id(options_.boot_id.data(), options_.boot_id.size());
    request.set_run(options_.run);
    request.set_sample_count(options_.sample_count);
    request.add_workloads("self_supervised");
    grpc::ClientContext context;
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const auto reader = stub_->Participate(&context, request);
    v1::ParticipateResponse response;
    bool ended = false;
    while (reader->Read(&response)) {
      if (!answered) {
        answered = true;
        ++streams_;
        SetState(FederationState::kParticipating, absl::OkStatus());
      }
      ended = response.has_ended();
      Take(response);
    }
    absl::Status status = FromGrpc(reader->Finish());
    if (!status.ok()) return status;
    // After the end of a run the next one may come; there is no hurry.
    if (ended) return absl::NotFoundError("the run has ended");
    return absl::UnavailableError("the aggregator ended the stream");
  }

  void Take(const v1::ParticipateResponse& response) {
    absl::StatusOr<FederationTask> task = TaskFromWire(response);
    if (!task.ok()) {
      ++malformed_tasks_;
      spdlog::error("{} gives a task that {} cannot do: {}", options_.aggregator, options_.node,
                    task.status().ToString());
      return;
    }
    if (auto* train = std::get_if<TrainTask>(&*task)) return Want(std::move(*train));
    const auto* wait = std::get_if<WaitTask>(&*task);
    const std::string reason = wait != nullptr ? wait->reason : std::get<EndedTask>(*task).reason;
    bool withdrawn = wait == nullptr;
    bool news = false;
    {
      const MutexLock lock(mutex_);
      news = waiting_for_ != reason;
      waiting_for_ = reason;
      // A round that is paused, or waits for others after a restart, still takes what is under way; one whose
      // time is over does not.
      if (wanted_ && clock_.UnixNs() > wanted_->deadline_unix_ns) withdrawn = true;
      if (withdrawn) wanted_.reset();
    }
    if (wait == nullptr && news) spdlog::info("run {} has ended: {}", PeerText(response.run()), reason);
    if (withdrawn) Withdraw();
  }

  void Want(TrainTask task) {
    std::stop_source earlier(std::nostopstate);
    {
      const MutexLock lock(mutex_);
      waiting_for_.clear();
      const bool same = wanted_ && wanted_->SameWork(task);
      wanted_ = std::move(task);
      if (same || stopped_) return;
      taken_ = false;
      earlier = std::exchange(withdrawal_, std::stop_source());
    }
    earlier.request_stop();  // runs the callbacks of calls under way
    changed_.notify_all();
  }

  void Withdraw() {
    std::stop_source source(std::nostopstate);
    {
      const MutexLock lock(mutex_);
      source = withdrawal_;
    }
    source.request_stop();
  }

  void SetState(FederationState state, absl::Status error) {
    const MutexLock lock(mutex_);
    state_ = state;
    last_error_ = std::move(error);
  }

  const FederationClientOptions options_;
  const Clock& clock_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::FederationService::Stub> stub_;
  Reconnect calls_;  // the caller's thread

  std::atomic<std::uint64_t> streams_ = 0;
  std::atomic<std::uint64_t> malformed_tasks_ = 0;
  std::atomic<std::uint64_t> received_bytes_ = 0;
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> repeated_submissions_ = 0;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<TrainTask> wanted_ GUARDED_BY(mutex_);  // not yet finished
  bool taken_ GUARDED_BY(mutex_) = false;               // Next has given it
  std::stop_source withdrawal_ GUARDED_BY(mutex_);      // of wanted_
  bool stopped_ GUARDED_BY(mutex_) = false;
  FederationState state_ GUARDED_BY(mutex_) = FederationState::kConnecting;
  absl::Status last_error_ GUARDED_BY(mutex_);
  std::string waiting_for_ GUARDED_BY(mutex_);

  std::jthread thread_;  // last: it uses everything above
};

FederationClient::FederationClient(FederationClientOptions options, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), clock)) {}
FederationClient::~FederationClient() = default;

std::optional<FederationClient::Assignment> FederationClient::Next() { return impl_->Next(); }
absl::StatusOr<std::string> FederationClient::FetchModel(const Assignment& assignment) {
  return impl_->FetchModel(assignment);
}
absl::StatusOr<SubmitAnswer> FederationClient::Submit(const Assignment& assignment,
                                                      const FinishedTraining& training) {
  return impl_->Submit(assignment, training);
}
void FederationClient::Finish(const Assignment& assignment) { impl_->Finish(assignment); }
void FederationClient::Stop() { impl_->Stop(); }
FederationState FederationClient::state() const { return impl_->state(); }
absl::Status FederationClient::last_error() const { return impl_->last_error(); }
std::string FederationClient::waiting_for() const { return impl_->waiting_for(); }
FederationClient::Counters FederationClient::counters() const { return impl_->counters(); }

std::string_view FederationStateName(FederationState state) {
  switch (state) {
    case FederationState::kConnecting:
      return "connecting";
    case FederationState::kParticipating:
      return "participating";
    case FederationState::kRefused:
      return "refused";
    case FederationState::kStopped:
      return "stopped";
  }
  return "unknown";
}

}  // namespace tributary
