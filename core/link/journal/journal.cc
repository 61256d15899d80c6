#include "core/link/journal/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/status/macros.h"

namespace tributary::link {
namespace {

constexpr std::string_view kEnding = ".spool";
constexpr std::size_t kDigits = 20;
constexpr std::string_view kLock = "lock";
// A segment and the longest record that may exceed it, with room.
constexpr std::size_t kMostSegmentBytes = std::size_t{64} << 20;

std::string SegmentName(std::uint64_t first) { return fmt::format("{:020}{}", first, kEnding); }

// The number in a segment's name; nothing for a file of somebody else.
std::optional<std::uint64_t> SegmentNumber(std::string_view name) {
  std::uint64_t number = 0;
  if (name.size() != kDigits + kEnding.size() || !name.ends_with(kEnding)) return std::nullopt;
  const std::string digits(name.substr(0, kDigits));
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  if (!absl::SimpleAtoi(digits, &number) || number > UINT64_MAX / 2) return std::nullopt;
  return number;
}

std::string WhyAside(const SegmentContent& content) {
  switch (content.state) {
    case SegmentState::kOtherVersion:
      return fmt::format(
          "has version {} of the format: run the release that wrote it until it is sent, or delete it",
          content.version);
    case SegmentState::kOtherIdentity:
      return "was written with another site, node, model, slot or panels in the configuration: restore that "
             "configuration until it is sent, or delete it";
    default:
      return "has no header of a segment: delete it";
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(std::unique_ptr<JournalFolder> folder,
                                                       const JournalOptions& options,
                                                       std::vector<std::string>& notes) {
  if (options.budget_bytes < 2 * options.segment_bytes) {
    return absl::InvalidArgumentError("the budget of a journal must hold two segments");
  }
  std::unique_ptr<Journal> journal(new Journal(std::move(folder), options));
  RETURN_IF_ERROR(journal->Recover(notes));
  return journal;
}

absl::Status Journal::Recover(std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, folder_->List());
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> foreign;
  for (const std::string& name : names) {
    if (const std::optional<std::uint64_t> number = SegmentNumber(name)) {
      numbers.push_back(*number);
    } else if (name != kLock) {
      foreign.push_back(name);
    }
  }
  if (!foreign.empty()) {
    const std::string others =
        foreign.size() == 1 ? "" : fmt::format(", and {} others are not either", foreign.size() - 1);
    notes.push_back(fmt::format("{}/{} is not a segment of a spool{}: move what is not the spool's away",
                                folder_->path(), foreign.front(), others));
    counters_.set_aside_files += foreign.size();
  }
  std::ranges::sort(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool last = i + 1 == numbers.size();
    RETURN_IF_ERROR(RecoverSegment(numbers[i], last ? std::nullopt : std::optional(numbers[i + 1]), notes));
  }
  counters_.recovered_records = counters_.stored_records + counters_.damaged_records;
  counters_.recovered_units = counters_.stored_units;
  Rewind();
  return folder_->SyncNames();
}

absl::Status Journal::RecoverSegment(std::uint64_t first, std::optional<std::uint64_t> following,
                                     std::vector<std::string>& notes) {
  const std::string name = SegmentName(first);
  absl::StatusOr<std::string> bytes = folder_->Read(name, kMostSegmentBytes);
  if (!bytes.ok() && !absl::IsResourceExhausted(bytes.status())) return bytes.status();
  const SegmentContent content = bytes.ok() ? ReadSegment(*bytes, options_.identity) : SegmentContent();
  const bool ours = content.state == SegmentState::kSound || content.state == SegmentState::kTorn;
  if (!ours) {
    ++counters_.set_aside_files;
    std::string why = WhyAside(content);
    // A header that is damaged hides records, which the next segment's number tells.
    if (content.state == SegmentState::kNoHeader && following && bytes.ok() &&
        *following - first <= bytes->size()) {
      counters_.damaged_records += *following - first;
      why += fmt::format("; {} lost", *following - first);
    }
    notes.push_back(fmt::format("{}/{} {}", folder_->path(), name, why));
    // Later records get numbers behind all that this file can contain.
    next_record_ = std::max(next_record_, first + kMostSegmentBytes);
    return absl::OkStatus();
  }
  Segment segment{.first = first, .bytes = content.sound_bytes, .records = content.records.size()};
  for (const Record& record : content.records) segment.units += record.units;
  if (segment.bytes < bytes->size()) {
    // The next segment's number says how many there were.
    const bool known = following && *following > segment.end() && *following - first <= bytes->size();
    const std::uint64_t lost = known ? *following - segment.end() : 1;
    counters_.damaged_records += lost;
    notes.push_back(fmt::format("{}/{}: cut at byte {} of {}; {}{} lost", folder_->path(), name,
                                segment.bytes, bytes->size(), known ? "" : "at least ", lost));
    RETURN_IF_ERROR(folder_->Truncate(name, segment.bytes));
  }
  next_record_ = std::max(next_record_, segment.end());
  if (segment.records == 0) return folder_->Remove(name);
  counters_.stored_records += segment.records;
  counters_.stored_units += segment.units;
  counters_.stored_bytes += segment.bytes;
  segments_.push_back(segment);
  return absl::OkStatus();
}

absl::Status Journal::Append(std::span<const Record> records) {
  if (records.empty()) return absl::OkStatus();
  std::string bytes;
  std::uint64_t units = 0;
  for (const Record& record : records) {
    AppendRecord(record, bytes);
    units += record.units;
  }
  RETURN_IF_ERROR(MakeRoom(bytes.size()));
  if (!writing_) {
    bytes.insert(0, SegmentHeader(options_.identity));
    RETURN_IF_ERROR(folder_->Append(SegmentName(next_record_), 0, bytes));
    segments_.push_back(Segment{.first = next_record_});
    writing_ = true;
  } else {
    RETURN_IF_ERROR(folder_->Append(SegmentName(segments_.back().first), segments_.back().bytes, bytes));
  }
  unsynced_ = true;
  Segment& segment = segments_.back();
  segment.bytes += bytes.size();
  segment.records += records.size();
  segment.units += units;
  next_record_ = segment.end();
  counters_.appended_records += records.size();
  counters_.stored_records += records.size();
  counters_.stored_units += units;
  counters_.stored_bytes += bytes.size();
  return absl::OkStatus();
}

absl::Status Journal::MakeRoom(std::uint64_t bytes) {
  bytes += kSegmentHeaderBytes;
  if (writing_ && segments_.back().bytes + bytes > options_.segment_bytes) {
    RETURN_IF_ERROR(Sync());
    writing_ = false;
  }
  while (!segments_.empty() && counters_.stored_bytes + bytes > options_.budget_bytes) {
    const Segment& oldest = segments_.front();
    counters_.over_budget_records += oldest.stored_records();
    counters_.over_budget_units += oldest.stored_units();
    RETURN_IF_ERROR(RemoveOldest());
  }
  return absl::OkStatus();
}

absl::Status Journal::RemoveOldest() {
  const Segment oldest = segments_.front();
  segments_.pop_front();
  if (segments_.empty()) writing_ = unsynced_ = false;
  counters_.stored_records -= oldest.stored_records();
  counters_.stored_units -= oldest.stored_units();
  counters_.stored_bytes -= oldest.bytes;
  next_read_ = std::max(next_read_, oldest.end());
  return folder_->Remove(SegmentName(oldest.first));
}

absl::Status Journal::Sync() {
  if (!std::exchange(unsynced_, false)) return absl::OkStatus();
  absl::Status status = folder_->Sync(SegmentName(segments_.back().first));
  if (status.ok()) status = folder_->SyncNames();
  // After an error nobody knows what is durable: the next records begin a new segment.
  if (!status.ok()) writing_ = false;
  return status;
}

absl::StatusOr<std::optional<Record>> Journal::Next() {
  for (Segment& segment : segments_) {
    if (next_read_ >= segment.end()) continue;
    next_read_ = std::max(next_read_, segment.first + segment.done_records);
    // The segment that is being written has grown since it was loaded.
    if (loaded_first_ != segment.first || records_.size() < segment.records) RETURN_IF_ERROR(Load(segment));
    if (next_read_ >= segment.end()) continue;
    const Record& record = records_[next_read_ - segment.first];
    ++next_read_;
    under_way_.push_back(record.units);
    return std::optional(record);
  }
  return std::optional<Record>();
}

absl::Status Journal::Load(Segment& segment) {
  records_.clear();
  loaded_first_.reset();
  const std::string name = SegmentName(segment.first);
  absl::StatusOr<std::string> bytes = folder_->Read(name, kMostSegmentBytes);
  if (!bytes.ok() && !absl::IsNotFound(bytes.status()))
    return absl::UnavailableError(bytes.status().message());
  loaded_ = bytes.ok() ? *std::move(bytes) : "";
  records_ = ReadSegment(loaded_, options_.identity).records;
  loaded_first_ = segment.first;
  if (records_.size() >= segment.records) return absl::OkStatus();

  Segment cut = segment;
  // Those that are under way came from an earlier, sound reading.
  cut.records = std::max<std::uint64_t>(records_.size(), next_read_ - segment.first);
  cut.units = cut.done_units;
  for (std::size_t i = segment.done_records; i < records_.size(); ++i) cut.units += records_[i].units;
  const std::uint64_t lost = segment.records - cut.records;
  counters_.damaged_records += lost;
  counters_.stored_records -= lost;
  counters_.stored_units -= segment.stored_units() - std::min(segment.stored_units(), cut.stored_units());
  segment = cut;
  if (segment.first == segments_.back().first) writing_ = unsynced_ = false;
  return absl::DataLossError(fmt::format("{}/{}: damaged on the disk; {} lost", folder_->path(), name, lost));
}

absl::Status Journal::Done(std::size_t records) {
  records = std::min(records, under_way_.size());
  auto segment = segments_.begin();
  for (; records > 0 && segment != segments_.end(); --records) {
    while (segment->done_records == segment->records && segment + 1 != segments_.end()) ++segment;
    const std::uint32_t units = under_way_.front();
    under_way_.pop_front();
    ++segment->done_records;
    segment->done_units += units;
    ++counters_.done_records;
    counters_.done_units += units;
    --counters_.stored_records;
    counters_.stored_units -= std::min<std::uint64_t>(counters_.stored_units, units);
  }
  return RemoveDone();
}

absl::Status Journal::RemoveDone() {
  while (!segments_.empty() && segments_.front().done_records >= segments_.front().records) {
    RETURN_IF_ERROR(RemoveOldest());
  }
  return absl::OkStatus();
}

void Journal::Rewind() {
  under_way_.clear();
  next_read_ = 0;  // Next skips what is done
}

}  // namespace tributary::link
