// A durable FIFO of records in a folder: bounded segments, oldest first out, each loss counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/link/journal/journal_folder.h"
#include "core/link/journal/segment.h"

namespace tributary::link {

struct JournalOptions {
  JournalIdentity identity = {};
  std::uint64_t budget_bytes = std::uint64_t{1} << 30;  // of all its segments
  std::uint64_t segment_bytes = std::uint64_t{1} << 20;
};

// Each record that was recovered or appended is in exactly one of done, over budget, damaged and stored.
// Units of damaged records are unknown.
struct JournalCounters {
  std::uint64_t recovered_records = 0;  // found when the folder was opened, the damaged ones included
  std::uint64_t recovered_units = 0;
  std::uint64_t appended_records = 0;
  std::uint64_t done_records = 0;
  std::uint64_t done_units = 0;
  std::uint64_t over_budget_records = 0;  // dropped, the oldest first
  std::uint64_t over_budget_units = 0;
  std::uint64_t damaged_records = 0;  // never trusted: at least so many were cut
  std::uint64_t stored_records = 0;   // now
  std::uint64_t stored_units = 0;
  std::uint64_t stored_bytes = 0;     // of the segments
  std::uint64_t set_aside_files = 0;  // left alone: of another release, declaration or owner
};

// Owns the segments of one folder, `NUMBER.spool`, where NUMBER is that of its first record; numbers have no
// gaps, so a damaged segment tells how many records it has lost. One thread's.
//
// A power cut loses at most what was appended after the last Sync; a killed process loses nothing that
// Append took. Records that were read and not marked as done are read again after a restart.
//
// Files that it cannot read as its own stay where they are, and count as set aside.
class Journal {
 public:
  // Reads all segments once; cuts what is torn. `notes`: sentences for the log about what was cut or set
  // aside. InvalidArgument: the budget is below two segments.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(std::unique_ptr<JournalFolder> folder,
                                                       const JournalOptions& options,
                                                       std::vector<std::string>& notes);

  // Appends all records, or none with an error. Over the budget, drops the oldest segments. Call while no
  // record is under way (Rewind).
  absl::Status Append(std::span<const Record> records);
  // Makes durable what was appended.
  absl::Status Sync();

  // The next record that was not read since the last Rewind; nothing at the end. Valid until the next call.
  // DataLoss: its segment is damaged; it has been cut, and the next call goes on behind it.
  absl::StatusOr<std::optional<Record>> Next();
  // The `records` oldest of those that were read are no longer needed.
  absl::Status Done(std::size_t records);
  // All records that are not done will be read again.
  void Rewind();

  std::size_t under_way() const { return under_way_.size(); }  // read, not done
  const JournalCounters& counters() const { return counters_; }

 private:
  struct Segment {
    std::uint64_t first = 0;  // number of its first record
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
    std::uint64_t units = 0;
    std::uint64_t done_records = 0;
    std::uint64_t done_units = 0;

    std::uint64_t end() const { return first + records; }
    std::uint64_t stored_records() const { return records - done_records; }
    std::uint64_t stored_units() const { return units > done_units ? units - done_units : 0; }
  };

  Journal(std::unique_ptr<JournalFolder> folder, const JournalOptions& options)
      : folder_(std::move(folder)), options_(options) {}

  absl::Status Recover(std::vector<std::string>& notes);
  // `following`: number of the next segment, if there is one.
  absl::Status RecoverSegment(std::uint64_t first, std::optional<std::uint64_t> following,
                              std::vector<std::string>& notes);
  // Ends the segment that is being written, and drops the oldest ones until so many bytes fit.
  absl::Status MakeRoom(std::uint64_t bytes);
  absl::Status RemoveOldest();
  // Removes the oldest segments whose records are all done.
  absl::Status RemoveDone();
  // Reads the segment again; what has been damaged since leaves the counts.
  absl::Status Load(Segment& segment);

  const std::unique_ptr<JournalFolder> folder_;
  const JournalOptions options_;
  std::deque<Segment> segments_;  // the oldest first; the last one is written to if `writing_`
  bool writing_ = false;
  bool unsynced_ = false;
  std::uint64_t next_record_ = 0;
  JournalCounters counters_;

  // Reading: the segment that is loaded, and the place of the next record in it.
  std::string loaded_;
  std::vector<Record> records_;
  std::optional<std::uint64_t> loaded_first_;
  std::uint64_t next_read_ = 0;          // number of the next record to read
  std::deque<std::uint32_t> under_way_;  // units of those that were read
};

}  // namespace tributary::link
