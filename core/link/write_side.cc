#include "core/link/write_side.h"

#include <algorithm>
#include <utility>

#include "core/wire/convert.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::link {
namespace {

// The message size for a backlog: large enough for the wire, small enough (25 kB of 16 tuples) for a quick
// acknowledgement.
constexpr std::size_t kBacklogFramesPerMessage = 64;
// A message ends with the frame that exceeds this. Together they stay below the 1 MiB that an aggregator
// takes by default (ingest.max_message_bytes): a larger message would be refused again after each reconnect.
constexpr std::size_t kMostMessageBytes = std::size_t{256} << 10;

}  // namespace

void WriteSide::Open(std::shared_ptr<ReportStream> stream) {
  const runtime::MutexLock lock(mutex_);
  stream_ = std::move(stream);
}

void WriteSide::Shut() {
  const runtime::MutexLock lock(mutex_);
  stream_.reset();
}

void WriteSide::SayStatus(v1::NodeStatus status) {
  const runtime::MutexLock lock(mutex_);
  status_ = std::move(status);
}

bool WriteSide::TakeStatus() {
  request_.clear_status();
  {
    const runtime::MutexLock lock(mutex_);
    if (!status_) return false;
    *request_.mutable_status() = *std::exchange(status_, std::nullopt);
  }
  const SpoolCounters counters = spool_.counters();
  request_.mutable_status()->set_offered_frames(counters.offered_frames);
  request_.mutable_status()->set_held_frames(counters.held_frames);
  request_.mutable_status()->set_held_bytes(counters.held_bytes);
  return true;
}

bool WriteSide::Claim() {
  const runtime::MutexLock lock(mutex_);
  return !std::exchange(claimed_, true);
}

void WriteSide::Release() {
  const runtime::MutexLock lock(mutex_);
  claimed_ = false;
}

bool WriteSide::claimed() const {
  const runtime::MutexLock lock(mutex_);
  return claimed_;
}

void WriteSide::SendIfIdle(bool flush) {
  for (;;) {
    std::shared_ptr<ReportStream> stream;
    {
      const runtime::MutexLock lock(mutex_);
      if (stream_ == nullptr || claimed_) return;
      const std::size_t enough = flush ? 1 : std::max<std::size_t>(frames_per_message_, 1);
      if (spool_.waiting_frames() < enough && !(flush && status_)) return;
      claimed_ = true;
      stream = stream_;
    }
    if (Write(*stream)) return;
    Release();
  }
}

// Only the thread that holds the claim calls this. False if nothing waited.
bool WriteSide::Write(ReportStream& stream) {
  const std::int64_t now_ns = clock_.SteadyNs();
  const std::size_t most = std::max(frames_per_message_, kBacklogFramesPerMessage);
  request_.mutable_frames()->Clear();
  std::size_t bytes = 0;
  while (static_cast<std::size_t>(request_.frames_size()) < most && bytes < kMostMessageBytes &&
         spool_.Take(now_ns, taken_)) {
    bytes += taken_.payload_bytes();
    wire::FrameToWire(taken_, *request_.add_frames());
  }
  if (!TakeStatus() && request_.frames_size() == 0) return false;
  request_.set_dropped_frames(spool_.dropped_frames());
  grpc::WriteOptions options;
  // A backlog goes out in large messages; the last one is never held back.
  if (spool_.waiting_frames() >= most) options.set_buffer_hint();
  if (request_.frames_size() > 0) messages_.fetch_add(1, std::memory_order_relaxed);
  stream.rpc->Write(request_, options, tag_);
  return true;
}

}  // namespace tributary::link
