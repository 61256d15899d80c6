#include "aggregator/learning/run/upload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parameters/crc32c.h"
#include "core/parameters/fixed_point.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

// What is wrong with a chunk whose frame fits: a value, or the bytes.
v1::SubmitRefusal ReasonOf(const absl::Status& fault) {
  if (absl::IsInvalidArgument(fault)) return v1::SUBMIT_REFUSAL_NOT_FINITE;
  if (absl::IsOutOfRange(fault)) return v1::SUBMIT_REFUSAL_OUT_OF_RANGE;
  return v1::SUBMIT_REFUSAL_CORRUPT;
}

}  // namespace

Upload::Upload(v1::UpdateHeader header, const Limits& limits, NewFile new_file)
    : header_(std::move(header)),
      limits_(limits),
      new_file_(std::move(new_file)),
      decoder_(EncodingOf(header_), header_.element_count()) {}

std::optional<Admission> Upload::Take(const v1::UpdateChunk& chunk) {
  if (limits_.round_under_way != nullptr && *limits_.round_under_way != header_.round()) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_STALE, "round {} is over", header_.round());
  }
  if (auto refusal = CheckFrame(chunk)) return refusal;
  const absl::Status decoded = DecodeChunk(
      {chunk.offset(), chunk.count(), chunk.payload()}, EncodingOf(header_), decoder_,
      [this](std::uint64_t offset, std::span<const float> values, std::span<const std::int64_t> words) {
        return words.empty() ? CheckValues(offset, values) : CheckWords(offset, words);
      });
  if (!decoded.ok()) return Admission::Refused(ReasonOf(decoded), "{}", std::string(decoded.message()));
  if (absl::Status status = Keep(chunk); !status.ok()) {
    return Admission::TryAgain(v1::SUBMIT_REFUSAL_STORE, "{}", std::string(status.message()));
  }
  payload_bytes_ += chunk.payload().size();
  return std::nullopt;
}

std::optional<Admission> Upload::CheckFrame(const v1::UpdateChunk& chunk) const {
  if (chunk.payload().size() > parameters::kMaxChunkBytes) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_TOO_LARGE, "chunk.payload: {} bytes, at most {} are allowed",
                              chunk.payload().size(), parameters::kMaxChunkBytes);
  }
  if (chunk.offset() != decoder_.next_offset()) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_OUT_OF_ORDER, "chunk.offset: {}, expected {}",
                              chunk.offset(), decoder_.next_offset());
  }
  if (chunk.count() > header_.element_count() - chunk.offset()) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_TOO_LARGE,
                              "chunk.count: {} elements from {} on, the update has {}", chunk.count(),
                              chunk.offset(), header_.element_count());
  }
  const bool last = chunk.offset() + chunk.count() == header_.element_count();
  if (chunk.count() == 0 || (!last && chunk.count() % parameters::kEncodingBlock != 0)) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_CORRUPT,
                              "chunk.count: {}, every chunk but the last holds whole blocks of {}",
                              chunk.count(), parameters::kEncodingBlock);
  }
  if (parameters::Crc32c(chunk.payload()) != chunk.crc32c()) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_CORRUPT, "chunk.crc32c: does not match the payload at {}",
                              chunk.offset());
  }
  if (chunk.payload().size() != parameters::EncodedBytes(EncodingOf(header_), chunk.count())) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_CORRUPT, "chunk.payload: {} bytes for {} elements of {}",
                              chunk.payload().size(), chunk.count(),
                              parameters::UpdateEncodingName(EncodingOf(header_)));
  }
  return std::nullopt;
}

absl::Status Upload::CheckWords(std::uint64_t offset, std::span<const std::int64_t> words) const {
  const auto fits = [this](std::int64_t word) {
    return std::fabs(static_cast<double>(word)) <= limits_.max_word;
  };
  if (std::ranges::all_of(words, fits)) return absl::OkStatus();
  return absl::OutOfRangeError(fmt::format(
      "chunk.payload: a sum behind element {} is larger than {} contributors with {} samples can have",
      offset, header_.contributors_size(), header_.sample_count()));
}

absl::Status Upload::CheckValues(std::uint64_t offset, std::span<const float> values) {
  switch (parameters::CheckRange(values, limits_.max_element)) {
    case parameters::RangeCheck::kGood:
      break;
    case parameters::RangeCheck::kNotFinite:
      return absl::InvalidArgumentError(
          fmt::format("chunk.payload: a value that is not finite behind element {}", offset));
    case parameters::RangeCheck::kOutOfRange:
      return absl::OutOfRangeError(
          fmt::format("chunk.payload: a value over {} behind element {}", limits_.max_element, offset));
  }
  if (limits_.norm) sum_of_squares_ += parameters::SumOfSquares(values);
  return absl::OkStatus();
}

absl::Status Upload::Keep(const v1::UpdateChunk& chunk) {
  const std::string head = ChunkHeadBytes(chunk);
  if (payload_bytes_ == 0) {
    bytes_.reserve(head.size() + chunk.payload().size());
    bytes_ = head;
    bytes_ += chunk.payload();
    return absl::OkStatus();
  }
  if (!file_) {
    ASSIGN_OR_RETURN(store::DurableFile file, new_file_());
    file_.emplace(std::move(file));
    RETURN_IF_ERROR(file_->Append(std::exchange(bytes_, {})));
  }
  RETURN_IF_ERROR(file_->Append(head));
  return file_->Append(chunk.payload());
}

std::optional<Admission> Upload::Finish() const {
  if (decoder_.complete()) return std::nullopt;
  return Admission::Refused(v1::SUBMIT_REFUSAL_INCOMPLETE, "{} of {} elements have come",
                            decoder_.next_offset(), header_.element_count());
}

double Upload::norm() const { return std::sqrt(sum_of_squares_); }

}  // namespace tributary::learning
