#include "core/link/spool/spool.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tributary::link {
namespace {

// Enough for what is in flight at 2,000 frames/s; the memory of a long outage is released.
constexpr std::size_t kFreeFrames = 256;

}  // namespace

Spool::Spool(SpoolLimits limits) : limits_(limits), held_(std::max<std::size_t>(limits.frames, 1)) {
  free_.reserve(kFreeFrames);
}

std::uint64_t Spool::Offer(estimate::TupleFrame& frame) {
  const std::size_t bytes = frame.payload_bytes();
  const std::size_t tuples = frame.subjects.size();
  const runtime::MutexLock lock(mutex_);
  ++counters_.offered_frames;
  counters_.offered_tuples += tuples;
  if (closed_ || bytes > limits_.bytes) {
    ++counters_.dropped_frames;
    counters_.dropped_tuples += tuples;
    return 0;
  }
  while (!Fits(bytes)) DropOldest();
  Hold(frame, false, false);
  return last_sequence_;
}

void Spool::Hold(estimate::TupleFrame& frame, bool stored, bool repeated) {
  const std::size_t tuples = frame.subjects.size();
  const std::size_t bytes = frame.payload_bytes();
  if (free_.empty()) free_.push_back(std::make_unique<estimate::TupleFrame>());
  std::unique_ptr<estimate::TupleFrame> held = std::move(free_.back());
  free_.pop_back();
  std::swap(*held, frame);
  held->sequence = ++last_sequence_;
  held_.push_back(Entry{.frame = std::move(held), .stored = stored, .repeated = repeated});
  counters_.held_tuples += tuples;
  counters_.held_bytes += bytes;
  if (stored) ++counters_.stored_frames;
}

bool Spool::MoveOut(estimate::TupleFrame& frame, bool& stored) {
  const runtime::MutexLock lock(mutex_);
  if (held_.empty()) return false;
  stored = held_.front().stored;
  std::unique_ptr<estimate::TupleFrame> oldest = PopOldest();
  std::swap(*oldest, frame);
  Recycle(std::move(oldest));
  return true;
}

bool Spool::MoveIn(estimate::TupleFrame& frame, bool stored) {
  const runtime::MutexLock lock(mutex_);
  // The other half is for the fresh ones, which would else drop what came back.
  const bool half_full = 2 * (held_.size() + 1) > held_.capacity() ||
                         2 * (counters_.held_bytes + frame.payload_bytes()) > limits_.bytes;
  if (closed_ || (half_full && !held_.empty())) return false;
  Hold(frame, stored, true);
  return true;
}

void Spool::CountDropped(std::uint64_t frames, std::uint64_t tuples) {
  const runtime::MutexLock lock(mutex_);
  counters_.dropped_frames += frames;
  counters_.dropped_tuples += tuples;
}

bool Spool::Take(std::int64_t now_steady_ns, estimate::TupleFrame& copy) {
  const runtime::MutexLock lock(mutex_);
  if (taken_ == held_.size()) return false;
  Entry& entry = held_[taken_++];
  ++counters_.taken_frames;
  if (entry.times_taken++ > 0) ++counters_.retaken_frames;
  entry.taken_steady_ns = now_steady_ns;
  last_taken_sequence_ = std::max(last_taken_sequence_, entry.frame->sequence);
  copy = *entry.frame;
  return true;
}

absl::StatusOr<std::optional<std::int64_t>> Spool::Acknowledge(std::uint64_t sequence) {
  const runtime::MutexLock lock(mutex_);
  if (sequence > last_taken_sequence_) {
    return absl::InvalidArgumentError(absl::StrCat("acknowledges sequence ", sequence,
                                                   ", but the last that was sent is ", last_taken_sequence_));
  }
  std::optional<std::int64_t> newest_taken_ns;
  while (!held_.empty() && held_.front().frame->sequence <= sequence) {
    // A frame that waits to be sent again has arrived all the same, but its lost stream gives no valid time.
    if (taken_ > 0) newest_taken_ns = held_.front().taken_steady_ns;
    std::unique_ptr<estimate::TupleFrame> frame = PopOldest();
    ++counters_.acknowledged_frames;
    counters_.acknowledged_tuples += frame->subjects.size();
    Recycle(std::move(frame));
  }
  return newest_taken_ns;
}

void Spool::Rewind() {
  const runtime::MutexLock lock(mutex_);
  taken_ = 0;
}

std::optional<Spool::HeldFrame> Spool::Find(std::uint64_t sequence) const {
  const runtime::MutexLock lock(mutex_);
  // Sequences of held frames are contiguous: only the oldest ones are removed.
  if (held_.empty() || sequence < held_.front().frame->sequence) return std::nullopt;
  const std::uint64_t index = sequence - held_.front().frame->sequence;
  if (index >= held_.size()) return std::nullopt;
  const Entry& entry = held_[index];
  return HeldFrame{entry.frame->subjects.size(), entry.times_taken > 1 || entry.repeated};
}

void Spool::Close() {
  const runtime::MutexLock lock(mutex_);
  closed_ = true;
}

std::uint64_t Spool::DropAll() {
  const runtime::MutexLock lock(mutex_);
  const std::uint64_t frames = held_.size();
  while (!held_.empty()) DropOldest();
  return frames;
}

bool Spool::crowded() const {
  const runtime::MutexLock lock(mutex_);
  return held_.size() >= held_.capacity() - held_.capacity() / 4 ||
         counters_.held_bytes >= limits_.bytes - limits_.bytes / 4;
}

std::size_t Spool::waiting_frames() const {
  const runtime::MutexLock lock(mutex_);
  return held_.size() - taken_;
}

std::size_t Spool::held_frames() const {
  const runtime::MutexLock lock(mutex_);
  return held_.size();
}

std::uint64_t Spool::dropped_frames() const {
  const runtime::MutexLock lock(mutex_);
  return counters_.dropped_frames;
}

SpoolCounters Spool::counters() const {
  const runtime::MutexLock lock(mutex_);
  SpoolCounters counters = counters_;
  counters.held_frames = held_.size();
  return counters;
}

std::unique_ptr<estimate::TupleFrame> Spool::PopOldest() {
  std::unique_ptr<estimate::TupleFrame> frame = std::move(held_.front().frame);
  if (held_.front().stored) --counters_.stored_frames;
  held_.pop_front();
  if (taken_ > 0) --taken_;
  counters_.held_tuples -= frame->subjects.size();
  counters_.held_bytes -= frame->payload_bytes();
  return frame;
}

void Spool::DropOldest() {
  std::unique_ptr<estimate::TupleFrame> frame = PopOldest();
  ++counters_.dropped_frames;
  counters_.dropped_tuples += frame->subjects.size();
  Recycle(std::move(frame));
}

void Spool::Recycle(std::unique_ptr<estimate::TupleFrame> frame) {
  if (free_.size() < kFreeFrames) free_.push_back(std::move(frame));
}

}  // namespace tributary::link
