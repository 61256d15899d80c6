// Frames that the aggregator has not acknowledged: a bounded FIFO between the panels and one stream.
#pragma once

#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/estimate/tuple_frame.h"
#include "core/runtime/mutex.h"

namespace tributary::link {

// Receives estimated tuples. Any thread may call.
class TupleSink {
 public:
  virtual ~TupleSink() = default;

  // Takes the frame; `frame` gets the memory of an old one, contents unspecified. Does not block.
  virtual void Offer(estimate::TupleFrame& frame) = 0;
};

struct SpoolLimits {
  std::size_t frames = 16384;                 // 8 s of one panel at 2,000 frames/s
  std::size_t bytes = std::size_t{16} << 20;  // of payload
};

// The disk behind a spool.
struct DiskBacklogOptions {
  std::string folder;
  std::uint64_t budget_bytes = std::uint64_t{1} << 30;
  double resend_hz = 4000;  // frames/s that come back from the disk beside the fresh ones
};

// Without a disk each offered frame is in exactly one of acknowledged, dropped and held (DiskBacklog).
struct SpoolCounters {
  std::uint64_t offered_frames = 0;
  std::uint64_t offered_tuples = 0;
  std::uint64_t taken_frames = 0;  // handed to the stream, repetitions included
  std::uint64_t retaken_frames = 0;
  std::uint64_t acknowledged_frames = 0;
  std::uint64_t acknowledged_tuples = 0;
  std::uint64_t dropped_frames =
      0;  // never acknowledged: the spool was full or closed, or emptied at the end
  std::uint64_t dropped_tuples = 0;
  std::uint64_t held_frames = 0;  // now
  std::uint64_t held_tuples = 0;
  std::uint64_t held_bytes = 0;
  std::uint64_t stored_frames = 0;  // of the held: they are on the disk, too
};

// Owns the frames. Thread-safe: panel threads offer, one stream takes and acknowledges. When full, drops and
// counts the oldest frame, whether it was taken or not; a frame that was taken may still arrive. Holds only a
// short lock. In steady state it allocates nothing: an acknowledged frame gives its memory to the next offer.
class Spool {
 public:
  explicit Spool(SpoolLimits limits);

  // Numbers the frame (from 1, without gaps) and takes it; `frame` gets the memory of an old one, contents
  // unspecified. Returns the sequence. Returns 0 and drops the frame if the spool is closed or the frame
  // alone exceeds the limit.
  std::uint64_t Offer(estimate::TupleFrame& frame);

  // Copies the oldest frame that was not taken since the last Rewind. False if there is none.
  bool Take(std::int64_t now_steady_ns, estimate::TupleFrame& copy);

  // Frees every frame up to and including `sequence`. Returns when the newest of them was taken (steady ns),
  // or nothing if none was taken since the last Rewind. InvalidArgument if that sequence has never been
  // taken.
  absl::StatusOr<std::optional<std::int64_t>> Acknowledge(std::uint64_t sequence);

  // Call when the stream is lost: all held frames will be taken again, oldest first.
  void Rewind();

  // What a held frame contains; nullopt once it is no longer held.
  struct HeldFrame {
    std::size_t tuples;
    bool retaken;
  };
  std::optional<HeldFrame> Find(std::uint64_t sequence) const;

  // For a backlog on the disk. MoveOut takes the oldest held frame out, taken or not; `stored`: it is on the
  // disk, too. False if none is held. MoveIn puts a stored one behind all others, and numbers it; it may have
  // arrived before. False, and `frame` is as it was: the spool is closed or half full.
  bool MoveOut(estimate::TupleFrame& frame, bool& stored);
  bool MoveIn(estimate::TupleFrame& frame, bool stored);
  // The disk has lost these.
  void CountDropped(std::uint64_t frames, std::uint64_t tuples);

  // From now on every offer is dropped.
  void Close();
  // Drops all held frames and returns how many.
  std::uint64_t DropAll();

  bool crowded() const;                // three quarters full
  std::size_t waiting_frames() const;  // held and not taken
  std::size_t held_frames() const;
  std::uint64_t dropped_frames() const;
  SpoolCounters counters() const;

 private:
  struct Entry {
    std::unique_ptr<estimate::TupleFrame> frame;
    std::int64_t taken_steady_ns = 0;
    std::uint32_t times_taken = 0;
    bool stored = false;    // on the disk, too
    bool repeated = false;  // may have arrived under an earlier number
  };

  bool Fits(std::size_t bytes) const REQUIRES(mutex_) {
    return !held_.full() && counters_.held_bytes + bytes <= limits_.bytes;
  }
  void Hold(estimate::TupleFrame& frame, bool stored, bool repeated) REQUIRES(mutex_);
  std::unique_ptr<estimate::TupleFrame> PopOldest() REQUIRES(mutex_);
  void DropOldest() REQUIRES(mutex_);
  void Recycle(std::unique_ptr<estimate::TupleFrame> frame) REQUIRES(mutex_);

  const SpoolLimits limits_;
  mutable runtime::Mutex mutex_;
  boost::circular_buffer<Entry> held_ GUARDED_BY(mutex_);  // the oldest first
  std::size_t taken_ GUARDED_BY(mutex_) = 0;               // how many of them are taken
  std::uint64_t last_sequence_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_taken_sequence_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<estimate::TupleFrame>> free_ GUARDED_BY(mutex_);
  SpoolCounters counters_ GUARDED_BY(mutex_);
};

}  // namespace tributary::link
