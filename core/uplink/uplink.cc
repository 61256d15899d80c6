#include "core/uplink/uplink.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/runtime/mutex.h"
#include "core/uplink/channel.h"
#include "core/uplink/convert.h"
#include "core/uplink/spool/backoff.h"
#include "core/uplink/uplink_metrics.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary {
namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kTickMs = 10;
// What a backlog is packed into: large enough for the wire, small enough (25 kB of 16 tuples) to be
// acknowledged soon.
constexpr std::size_t kBacklogFramesPerMessage = 64;
constexpr std::int64_t kHelloTimeoutNs = 5'000 * kMillisecondNs;
constexpr std::int64_t kCloseTimeoutNs = 500 * kMillisecondNs;
constexpr Backoff::Limits kLostLink{20 * kMillisecondNs, 400 * kMillisecondNs};
constexpr Backoff::Limits kRefusedNode{1'000 * kMillisecondNs, 30'000 * kMillisecondNs};

// What will not get better by itself: a configuration or a certificate must change.
bool IsRefusal(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::UnavailableError("the aggregator ended the stream");
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), PeerText(status.error_message()));
}

gpr_timespec MillisecondsFromNow(std::int64_t ms) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

class ReportUplink final : public Uplink {
 public:
  ReportUplink(UplinkOptions options, const ReportingProcess& process, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        description_(absl::StrCat(options_.aggregator, " as ", process.node, " of site ", process.site)),
        spool_(options_.spool),
        stub_(v1::FusionService::NewStub(MakeChannel(options_.aggregator, options_.tls))),
        lost_link_(kLostLink, std::random_device{}()),
        refused_node_(kRefusedNode, std::random_device{}()) {
    *hello_.mutable_hello() = HelloToWire(process);
  }

  ~ReportUplink() override { Stop(std::chrono::milliseconds(0)); }

  void Start(Metrics& metrics) {
    round_trip_ = &AddUplinkMetrics(*this, metrics);
    thread_ = std::thread([this] { Run(); });
  }

  void Offer(TupleFrame& frame) override {
    if (spool_.Offer(frame) != 0) SendIfIdle(false);
  }

  std::uint64_t Stop(std::chrono::milliseconds drain) override {
    spool_.Close();
    {
      const MutexLock lock(mutex_);
      if (!stop_deadline_ns_) stop_deadline_ns_ = clock_.SteadyNs() + drain.count() * kMillisecondNs;
    }
    if (thread_.joinable()) thread_.join();
    return spool_.DropAll();
  }

  UplinkState state() const override {
    const MutexLock lock(mutex_);
    return state_;
  }

  absl::Status refusal() const override {
    const MutexLock lock(mutex_);
    return last_error_;
  }

  UplinkCounters counters() const override {
    return {spool_.counters(), refusals_.counters(), messages_.load(), connections_.load()};
  }

 private:
  using Rpc = grpc::ClientAsyncReaderWriter<v1::ReportRequest, v1::ReportResponse>;

  // One stream; the thread that writes keeps it alive until its call returns.
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<Rpc> rpc;
  };

  // Tags of the completion queue. One stream at a time, one operation of a kind at a time.
  enum Operation : std::intptr_t { kStart = 1, kRead, kWrite, kFinish };
  static void* Tag(Operation operation) { return reinterpret_cast<void*>(operation); }

  enum class Phase {
    kWaiting,    // for the next attempt
    kStarting,   // the call is on its way
    kHello,      // the hello is out, its answer is not in
    kReporting,  // frames flow
    kClosing,    // no new writes; reads go on until the stream ends
    kFinishing,  // the stream has ended; its status is awaited
    kStopped,
  };

  // --- Any thread ---

  // Begins a write if none is under way and enough frames wait; `flush`: even one.
  void SendIfIdle(bool flush) {
    for (;;) {
      std::shared_ptr<Stream> stream;
      {
        const MutexLock lock(mutex_);
        if (!open_ || writing_) return;
        const std::size_t enough =
            flush || stop_deadline_ns_ ? 1 : std::max<std::size_t>(options_.frames_per_message, 1);
        if (spool_.waiting_frames() < enough) return;
        writing_ = true;
        stream = stream_;
      }
      if (Write(*stream)) return;
      const MutexLock lock(mutex_);
      writing_ = false;
    }
  }

  // Called by whoever set writing_. False if nothing waited after all.
  bool Write(Stream& stream) {
    const std::int64_t now_ns = clock_.SteadyNs();
    const std::size_t most = std::max(options_.frames_per_message, kBacklogFramesPerMessage);
    request_.mutable_frames()->Clear();
    while (static_cast<std::size_t>(request_.frames_size()) < most && spool_.Take(now_ns, taken_)) {
      FrameToWire(taken_, *request_.add_frames());
    }
    if (request_.frames_size() == 0) return false;
    request_.set_dropped_frames(spool_.dropped_frames());
    grpc::WriteOptions options;
    // A backlog is put on the wire in large pieces; the last message is never held back.
    if (spool_.waiting_frames() >= most) options.set_buffer_hint();
    messages_.fetch_add(1, std::memory_order_relaxed);
    stream.rpc->Write(request_, options, Tag(kWrite));
    return true;
  }

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
    SetState(UplinkState::kStopped, last_error());
  }

  void Complete(Operation operation, bool ok) {
    switch (operation) {
      case kStart:
        return ok ? SayHello() : Close();
      case kRead:
        reading_ = false;
        return ok ? Respond() : Close();
      case kWrite:
        ReleaseWrite();
        if (!ok || phase_ == Phase::kClosing) return Close();
        return SendIfIdle(false);
      case kFinish:
        return Finished();
    }
  }

  void Tick(std::int64_t now_ns) {
    const std::optional<std::int64_t> stop_ns = stop_deadline();
    const bool drained =
        stop_ns && (spool_.held_frames() == 0 || now_ns >= *stop_ns || state() == UplinkState::kRefused);
    switch (phase_) {
      case Phase::kWaiting:
        if (drained) {
          phase_ = Phase::kStopped;
        } else if (now_ns >= next_attempt_ns_) {
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
        // What waits for company goes out alone once nothing has gone out for a whole tick.
        if (messages_ == messages_at_tick_) SendIfIdle(true);
        messages_at_tick_ = messages_;
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
    current_ = std::make_shared<Stream>();
    failure_ = absl::OkStatus();
    progressed_ = false;
    phase_ = Phase::kStarting;
    phase_deadline_ns_ = now_ns + kHelloTimeoutNs;
    current_->rpc = stub_->PrepareAsyncReport(&current_->context, &queue_);
    current_->rpc->StartCall(Tag(kStart));
  }

  void SayHello() {
    if (phase_ != Phase::kStarting) return Close();
    phase_ = Phase::kHello;
    {
      const MutexLock lock(mutex_);
      writing_ = true;
    }
    current_->rpc->Write(hello_, Tag(kWrite));
    Read();
  }

  void Read() {
    reading_ = true;
    current_->rpc->Read(&response_, Tag(kRead));
  }

  void Respond() {
    const std::int64_t now_ns = clock_.SteadyNs();
    if (phase_ == Phase::kHello) spool_.Rewind();
    for (const v1::Refusal& refusal : response_.refusals()) {
      if (refusals_.Count(refusal, spool_.Find(refusal.sequence()), now_ns)) {
        spdlog::warn("{} refused frame {} ({}): {}", options_.aggregator, refusal.sequence(),
                     RefusalReasonLabel(refusal.reason()), PeerText(refusal.message()));
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
    Read();
  }

  void BeginReporting(std::int64_t now_ns) {
    phase_ = Phase::kReporting;
    reporting_since_ns_ = now_ns;
    ++connections_;
    spdlog::info("reporting to {}; {} frames wait", description_, spool_.waiting_frames());
    SetState(UplinkState::kReporting, absl::OkStatus());
    {
      const MutexLock lock(mutex_);
      stream_ = current_;
      open_ = true;
    }
    SendIfIdle(true);
  }

  // Ends the stream from this side for a reason of ours.
  void Fail(absl::Status status) {
    if (failure_.ok()) failure_ = std::move(status);
    current_->context.TryCancel();
    EnterClosing();
  }

  // Everything has been acknowledged or its time is over: half-close, so that the aggregator sees a clean
  // end.
  void EndOrderly(std::int64_t now_ns) {
    {
      const MutexLock lock(mutex_);
      open_ = false;
      if (writing_) return;
      writing_ = true;
    }
    EnterClosing();
    phase_deadline_ns_ = now_ns + kCloseTimeoutNs;
    current_->rpc->WritesDone(Tag(kWrite));
  }

  void EnterClosing() {
    if (phase_ == Phase::kClosing || phase_ == Phase::kFinishing) return;
    phase_ = Phase::kClosing;
    phase_deadline_ns_ = clock_.SteadyNs() + kCloseTimeoutNs;
    const MutexLock lock(mutex_);
    open_ = false;
    stream_.reset();
  }

  // An operation has ended and the stream is not to be used further.
  void Close() {
    EnterClosing();
    if (!reading_) FinishOnceIdle();
  }

  void FinishOnceIdle() {
    {
      const MutexLock lock(mutex_);
      if (writing_) return;
    }
    phase_ = Phase::kFinishing;
    current_->rpc->Finish(&status_, Tag(kFinish));
  }

  void Finished() {
    const std::int64_t now_ns = clock_.SteadyNs();
    const absl::Status error = failure_.ok() ? FromGrpc(status_) : failure_;
    current_.reset();
    phase_ = Phase::kWaiting;
    if (stop_deadline()) {
      next_attempt_ns_ = now_ns + lost_link_.Next();
      return;
    }
    const bool refused = IsRefusal(error.code());
    constexpr std::int64_t kLastedNs = 1'000 * kMillisecondNs;
    if (progressed_ || (state() == UplinkState::kReporting && now_ns - reporting_since_ns_ >= kLastedNs)) {
      lost_link_.Reset();
      refused_node_.Reset();
    }
    const bool slowly = refused || error.code() == absl::StatusCode::kResourceExhausted;
    const std::int64_t delay_ns = slowly ? refused_node_.Next() : lost_link_.Next();
    next_attempt_ns_ = now_ns + delay_ns;
    Log(error, refused, now_ns);
    SetState(refused ? UplinkState::kRefused : UplinkState::kConnecting, error);
  }

  void Log(const absl::Status& error, bool refused, std::int64_t now_ns) {
    constexpr std::int64_t kRepeatNs = 10'000 * kMillisecondNs;
    if (refused) {
      spdlog::error("{} refuses this node: {}", description_, error.ToString());
    } else if (state() == UplinkState::kReporting || now_ns >= next_log_ns_) {
      spdlog::warn("no link to {}: {}; {} frames wait, trying again", description_, error.ToString(),
                   spool_.held_frames());
    } else {
      return;
    }
    next_log_ns_ = now_ns + kRepeatNs;
  }

  void ReleaseWrite() {
    const MutexLock lock(mutex_);
    writing_ = false;
  }

  std::optional<std::int64_t> stop_deadline() const {
    const MutexLock lock(mutex_);
    return stop_deadline_ns_;
  }

  absl::Status last_error() const { return refusal(); }

  void SetState(UplinkState state, absl::Status error) {
    const MutexLock lock(mutex_);
    state_ = state;
    last_error_ = std::move(error);
  }

  const UplinkOptions options_;
  const Clock& clock_;
  const std::string description_;  // of the link, for logs
  v1::ReportRequest hello_;
  Histogram* round_trip_ = nullptr;
  Spool spool_;
  Refusals refusals_;
  std::atomic<std::uint64_t> messages_ = 0;
  std::atomic<std::uint64_t> connections_ = 0;

  mutable Mutex mutex_;
  bool open_ GUARDED_BY(mutex_) = false;  // frames may be written
  bool writing_ GUARDED_BY(mutex_) =
      false;  // somebody owns the write side, from before Write to its completion
  std::shared_ptr<Stream> stream_ GUARDED_BY(mutex_);  // while open_
  UplinkState state_ GUARDED_BY(mutex_) = UplinkState::kConnecting;
  absl::Status last_error_ GUARDED_BY(mutex_);
  std::optional<std::int64_t> stop_deadline_ns_ GUARDED_BY(mutex_);

  // Whoever set writing_; reused from message to message.
  v1::ReportRequest request_;
  TupleFrame taken_;

  // The own thread.
  grpc::CompletionQueue queue_;
  std::unique_ptr<v1::FusionService::Stub> stub_;
  std::shared_ptr<Stream> current_;
  Phase phase_ = Phase::kWaiting;
  bool reading_ = false;
  bool progressed_ = false;  // this stream has acknowledged something
  absl::Status failure_;     // why this side ended the stream
  grpc::Status status_;
  v1::ReportResponse response_;
  Backoff lost_link_;
  Backoff refused_node_;
  std::int64_t next_attempt_ns_ = 0;
  std::int64_t phase_deadline_ns_ = 0;
  std::int64_t reporting_since_ns_ = 0;
  std::int64_t next_log_ns_ = 0;
  std::uint64_t messages_at_tick_ = 0;
  std::thread thread_;
};

}  // namespace

std::string_view UplinkStateName(UplinkState state) {
  switch (state) {
    case UplinkState::kConnecting:
      return "connecting";
    case UplinkState::kReporting:
      return "reporting";
    case UplinkState::kRefused:
      return "refused";
    case UplinkState::kStopped:
      return "stopped";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<Uplink>> Uplink::Create(UplinkOptions options, ReportingProcess process,
                                                       const Clock& clock, Metrics& metrics) {
  if (options.aggregator.empty()) return absl::InvalidArgumentError("uplink: no aggregator address");
  // The receiver's rules, applied before it has to: a fault is found where it can be put right.
  if (const auto checked = HelloFromWire(HelloToWire(process)); !checked.ok()) return checked.status();
  auto uplink = std::make_unique<ReportUplink>(std::move(options), process, clock);
  uplink->Start(metrics);
  return uplink;
}

}  // namespace tributary
