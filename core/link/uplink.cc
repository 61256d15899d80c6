#include "core/link/uplink.h"

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/link/channel.h"
#include "core/link/spool/reconnect.h"
#include "core/link/uplink_log.h"
#include "core/link/write_side.h"
#include "core/runtime/log.h"
#include "core/runtime/mutex.h"
#include "core/status/macros.h"
#include "core/wire/hello.h"
#include "core/wire/json.h"
#include "core/wire/kept_room.h"
#include "core/wire/peer.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::link {
namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kTickMs = 10;
constexpr std::int64_t kHelloTimeoutNs = 5'000 * kMillisecondNs;
constexpr std::int64_t kCloseTimeoutNs = 500 * kMillisecondNs;
// A stream that lasted this long was good, even if nothing was acknowledged.
constexpr std::int64_t kServedNs = 1'000 * kMillisecondNs;

gpr_timespec MillisecondsFromNow(std::int64_t ms) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

std::string CauseOfDrops(const UplinkOptions& options) {
  return absl::StrCat("the spool of ", options.spool.frames, " frames and ", options.spool.bytes,
                      " bytes is full", options.disk ? ", and spool_dir takes no more of it" : "");
}

class ReportUplink final : public Uplink {
 public:
  ReportUplink(UplinkOptions options, v1::Hello hello, estimate::SlotLength slot, const runtime::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        slot_(slot),
        spool_(options_.spool),
        write_side_(spool_, clock, options_.frames_per_message, Tag(kWrite)),
        channel_(options_.aggregator, options_.tls),
        stub_(channel_),
        reconnect_(std::random_device{}()),
        log_(absl::StrCat(options_.aggregator, " as ", hello.node(), " of site ", hello.site()),
             CauseOfDrops(options_)) {
    if (options_.disk) disk_ = std::make_unique<DiskBacklog>(*options_.disk, hello, slot, spool_, clock);
    *hello_.mutable_hello() = std::move(hello);
  }

  ~ReportUplink() override { Stop(std::chrono::milliseconds(0)); }

  void Start(runtime::Metrics& metrics) {
    round_trip_ = &AddUplinkMetrics(*this, options_, metrics);
    thread_ = std::thread([this] { Run(); });
    if (disk_ != nullptr) disk_thread_ = std::jthread([this](const std::stop_token& stop) { RunDisk(stop); });
  }

  void Offer(estimate::TupleFrame& frame) override {
    if (spool_.Offer(frame) != 0) write_side_.SendIfIdle(false);
  }

  std::uint64_t Stop(std::chrono::milliseconds drain) override {
    spool_.Close();
    {
      const runtime::MutexLock lock(mutex_);
      if (!stop_deadline_ns_) stop_deadline_ns_ = clock_.SteadyNs() + drain.count() * kMillisecondNs;
    }
    if (!thread_.joinable()) return spool_.DropAll();
    thread_.join();
    std::uint64_t left = 0;
    if (disk_thread_.joinable()) {
      disk_thread_ = {};  // stops and joins
      left = disk_->Flush();
    }
    UplinkCounters said = counters();
    said.spool.dropped_frames -= left;  // the caller says those that are left
    log_.RestOfLosses(said);
    return left + spool_.DropAll();
  }

  void SayStatus(v1::NodeStatus status) override { write_side_.SayStatus(std::move(status)); }

  UplinkState state() const override {
    const runtime::MutexLock lock(mutex_);
    return state_;
  }

  absl::Status refusal() const override {
    const runtime::MutexLock lock(mutex_);
    return last_error_;
  }

  UplinkCounters counters() const override {
    return {spool_.counters(), refusals_.counters(), write_side_.messages(), connections_.load(),
            disk_ == nullptr ? std::nullopt : std::optional(disk_->counters())};
  }

 private:
  // Tags of the completion queue. One stream at a time, one operation of a kind at a time.
  enum Operation : std::intptr_t { kStart = 1, kRead, kWrite, kFinish };
  static void* Tag(Operation operation) { return reinterpret_cast<void*>(operation); }

  enum class Phase {
    kWaiting,    // for the next attempt
    kStarting,   // the call is on its way
    kHello,      // the hello is out, its answer is not in
    kReporting,  // frames flow
    kClosing,    // no new writes; reads continue until the stream ends
    kFinishing,  // the stream has ended; its status is awaited
    kStopped,
  };

  // --- Own thread ---

  void Run() {
    std::int64_t next_tick_ns = 0;
    while (phase_ != Phase::kStopped) {
      void* tag = nullptr;
      bool ok = false;
      if (queue_.AsyncNext(&tag, &ok, MillisecondsFromNow(kTickMs)) == grpc::CompletionQueue::GOT_EVENT) {
        Complete(static_cast<Operation>(reinterpret_cast<std::intptr_t>(tag)), ok);
      }
      const std::int64_t now_ns = clock_.SteadyNs();
      if (now_ns < next_tick_ns) continue;
      next_tick_ns = now_ns + kTickMs * kMillisecondNs;
      Tick(now_ns);
    }
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
    SetState(UplinkState::kStopped, refusal());
  }

  void RunDisk(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      disk_->Tick(state() == UplinkState::kReporting);
      clock_.SleepFor(DiskBacklog::kTickNs, stop);
    }
  }

  void Complete(Operation operation, bool ok) {
    switch (operation) {
      case kStart:
        return ok ? SayHello() : Close();
      case kRead:
        reading_ = false;
        return ok ? Respond() : Close();
      case kWrite:
        write_side_.Release();
        if (!ok || phase_ == Phase::kClosing) return Close();
        return write_side_.SendIfIdle(false);
      case kFinish:
        return Finished();
    }
  }

  void Tick(std::int64_t now_ns) {
    log_.Losses(counters(), now_ns);
    const std::optional<std::int64_t> stop_ns = stop_deadline();
    const bool drained =
        stop_ns && (spool_.held_frames() == 0 || now_ns >= *stop_ns || state() == UplinkState::kRefused);
    switch (phase_) {
      case Phase::kWaiting:
        if (drained) {
          phase_ = Phase::kStopped;
        } else if (now_ns >= next_attempt_ns_ || channel_.renewed()) {
          Attempt(now_ns);
        }
        return;
      case Phase::kStarting:
      case Phase::kHello:
        if (drained || now_ns >= phase_deadline_ns_) {
          Fail(absl::DeadlineExceededError("the aggregator did not answer the hello"));
        }
        return;
      case Phase::kReporting:
        if (drained) return EndOrderly(now_ns);
        // Frames that wait for a full message go out once nothing has gone out for a whole tick.
        if (write_side_.messages() == messages_at_tick_) write_side_.SendIfIdle(true);
        messages_at_tick_ = write_side_.messages();
        return;
      case Phase::kClosing:
      case Phase::kFinishing:
        if (now_ns >= phase_deadline_ns_) current_->context.TryCancel();
        if (phase_ == Phase::kClosing && !reading_) FinishOnceIdle();
        return;
      case Phase::kStopped:
        return;
    }
  }

  void Attempt(std::int64_t now_ns) {
    current_ = std::make_shared<ReportStream>();
    failure_ = absl::OkStatus();
    progressed_ = false;
    phase_ = Phase::kStarting;
    phase_deadline_ns_ = now_ns + kHelloTimeoutNs;
    current_->rpc = stub_.Get()->PrepareAsyncReport(&current_->context, &queue_);
    current_->rpc->StartCall(Tag(kStart));
  }

  void SayHello() {
    if (phase_ != Phase::kStarting) return Close();
    phase_ = Phase::kHello;
    write_side_.Claim();
    current_->rpc->Write(hello_, Tag(kWrite));
    Read();
  }

  void Read() {
    reading_ = true;
    current_->rpc->Read(&response_, Tag(kRead));
  }

  void Respond() {
    const std::int64_t now_ns = clock_.SteadyNs();
    if (phase_ == Phase::kHello) {
      if (absl::Status status = wire::CheckSlotOfAnswer(response_, slot_); !status.ok()) {
        Fail(std::move(status));
        return Close();
      }
      if (disk_ != nullptr) disk_->Admit(SiteMaxAgeNs());
      spool_.Rewind();
    }
    for (const v1::Refusal& refusal : response_.refusals()) {
      if (refusals_.Count(refusal, spool_.Find(refusal.sequence()), now_ns)) {
        runtime::LogWarning("{} refused frame {} ({}): {}", options_.aggregator, refusal.sequence(),
                            wire::EnumLabel(refusal.reason()), wire::PeerText(refusal.message()));
      }
    }
    const auto newest_ns = spool_.Acknowledge(response_.acknowledged_sequence());
    if (!newest_ns.ok()) {
      Fail(absl::InvalidArgumentError(absl::StrCat("the aggregator ", newest_ns.status().message())));
      return Close();
    }
    if (*newest_ns) {
      round_trip_->Observe(1e-9 * static_cast<double>(now_ns - **newest_ns));
      progressed_ = true;
    }
    if (phase_ == Phase::kHello) BeginReporting(now_ns);
    if (response_room_.IsTooMuchWith(response_.ByteSizeLong())) response_ = v1::ReportResponse();
    Read();
  }

  std::optional<std::int64_t> SiteMaxAgeNs() const {
    if (!response_.has_max_age_ns() || response_.max_age_ns() > INT64_MAX) return std::nullopt;
    return static_cast<std::int64_t>(response_.max_age_ns());
  }

  void BeginReporting(std::int64_t now_ns) {
    phase_ = Phase::kReporting;
    reporting_since_ns_ = now_ns;
    ++connections_;
    log_.Reporting(spool_.waiting_frames(), counters());
    SetState(UplinkState::kReporting, absl::OkStatus());
    write_side_.Open(current_);
    write_side_.SendIfIdle(true);
  }

  // Ends the stream from this side.
  void Fail(absl::Status status) {
    if (failure_.ok()) failure_ = std::move(status);
    current_->context.TryCancel();
    EnterClosing();
  }

  // All frames are acknowledged or the drain time is over: half-close, so that the aggregator sees a clean
  // end.
  void EndOrderly(std::int64_t now_ns) {
    write_side_.Shut();
    if (!write_side_.Claim()) return;
    EnterClosing();
    phase_deadline_ns_ = now_ns + kCloseTimeoutNs;
    current_->rpc->WritesDone(Tag(kWrite));
  }

  void EnterClosing() {
    if (phase_ == Phase::kClosing || phase_ == Phase::kFinishing) return;
    phase_ = Phase::kClosing;
    phase_deadline_ns_ = clock_.SteadyNs() + kCloseTimeoutNs;
    write_side_.Shut();
  }

  // An operation has ended and the stream cannot be used any further.
  void Close() {
    EnterClosing();
    if (!reading_) FinishOnceIdle();
  }

  void FinishOnceIdle() {
    if (write_side_.claimed()) return;
    phase_ = Phase::kFinishing;
    current_->rpc->Finish(&status_, Tag(kFinish));
  }

  void Finished() {
    const std::int64_t now_ns = clock_.SteadyNs();
    const bool answered = state() == UplinkState::kReporting;
    absl::Status error = failure_.ok() ? wire::StreamEnd(status_) : failure_;
    if (!answered) error = WithTlsAdvice(error, options_.tls != nullptr);
    current_.reset();
    phase_ = Phase::kWaiting;
    if (progressed_ || (answered && now_ns - reporting_since_ns_ >= kServedNs)) {
      reconnect_.Recovered();
    }
    if (stop_deadline()) {
      next_attempt_ns_ = now_ns + reconnect_.DelayNs(absl::UnavailableError("in a hurry"));
      return;
    }
    next_attempt_ns_ = now_ns + reconnect_.DelayNs(error);
    // NotFound: the aggregator has no such site.
    const bool refused = Reconnect::IsRefusal(error) || absl::IsNotFound(error);
    if (refused) {
      log_.Refused(error, now_ns);
    } else {
      log_.Lost(error, answered, counters(), now_ns);
    }
    SetState(refused ? UplinkState::kRefused : UplinkState::kConnecting, error);
  }

  std::optional<std::int64_t> stop_deadline() const {
    const runtime::MutexLock lock(mutex_);
    return stop_deadline_ns_;
  }

  void SetState(UplinkState state, absl::Status error) {
    const runtime::MutexLock lock(mutex_);
    state_ = state;
    last_error_ = std::move(error);
  }

  const UplinkOptions options_;
  const runtime::Clock& clock_;
  const estimate::SlotLength slot_;
  v1::ReportRequest hello_;
  runtime::Histogram* round_trip_ = nullptr;
  Spool spool_;
  std::unique_ptr<DiskBacklog> disk_;  // null: memory only. Its thread's, but for what says otherwise
  WriteSide write_side_;
  Refusals refusals_;
  std::atomic<std::uint64_t> connections_ = 0;

  mutable runtime::Mutex mutex_;
  UplinkState state_ GUARDED_BY(mutex_) = UplinkState::kConnecting;
  absl::Status last_error_ GUARDED_BY(mutex_);
  std::optional<std::int64_t> stop_deadline_ns_ GUARDED_BY(mutex_);

  // The own thread.
  grpc::CompletionQueue queue_;
  LiveChannel channel_;
  LiveStub<v1::FusionService> stub_;
  std::shared_ptr<ReportStream> current_;
  Phase phase_ = Phase::kWaiting;
  bool reading_ = false;
  bool progressed_ = false;  // this stream has acknowledged something
  absl::Status failure_;     // why this side ended the stream
  grpc::Status status_;
  v1::ReportResponse response_;  // reused
  wire::KeptRoom response_room_;
  Reconnect reconnect_;
  std::int64_t next_attempt_ns_ = 0;
  std::int64_t phase_deadline_ns_ = 0;
  std::int64_t reporting_since_ns_ = 0;
  UplinkLog log_;
  std::uint64_t messages_at_tick_ = 0;
  std::thread thread_;
  std::jthread disk_thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Uplink>> Uplink::Create(UplinkOptions options, v1::Hello hello,
                                                       const runtime::Clock& clock,
                                                       runtime::Metrics& metrics) {
  if (options.aggregator.empty()) return absl::InvalidArgumentError("uplink: no aggregator address");
  // Apply the receiver's rules here, so that the node reports the fault at its start.
  ASSIGN_OR_RETURN(const estimate::SlotLength slot, wire::CheckHello(hello));
  auto uplink = std::make_unique<ReportUplink>(std::move(options), std::move(hello), slot, clock);
  uplink->Start(metrics);
  return uplink;
}

}  // namespace tributary::link
