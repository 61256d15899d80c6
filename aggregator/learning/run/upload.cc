#include "aggregator/learning/run/upload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parameters/crc32c.h"
#include "core/parameters/fixed_point.h"
#include "core/status/macros.h"

namespace tributary::learning {

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
  for (std::size_t first = 0; first < chunk.count(); first += parameters::kElementsPerPart) {
    const parameters::EncodedElements whole{chunk.offset(), chunk.count(), chunk.payload()};
    if (auto refusal = CheckValues(parameters::PartOf(EncodingOf(header_), whole, first))) return refusal;
  }
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

std::optional<Admission> Upload::CheckValues(const parameters::EncodedElements& part) {
  if (decoder_.has_words()) {
    const auto words = decoder_.DecodeFixed(part.offset, part.count, part.payload);
    if (!words.ok()) {
      return Admission::Refused(v1::SUBMIT_REFUSAL_CORRUPT, "{}", std::string(words.status().message()));
    }
    const auto fits = [this](std::int64_t word) {
      return std::fabs(static_cast<double>(word)) <= limits_.max_word;
    };
    if (std::ranges::all_of(*words, fits)) return std::nullopt;
    return Admission::Refused(v1::SUBMIT_REFUSAL_OUT_OF_RANGE,
                              "chunk.payload: a sum behind element {} is larger than {} contributors with {} "
                              "samples can have",
                              part.offset, header_.contributors_size(), header_.sample_count());
  }
  const auto values = decoder_.Decode(part.offset, part.count, part.payload);
  // Place, size and checksum are right: what is left is a value or a scale that is not finite.
  if (!values.ok())
    return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_FINITE, "{}", std::string(values.status().message()));
  switch (parameters::CheckRange(*values, limits_.max_element)) {
    case parameters::RangeCheck::kGood:
      break;
    case parameters::RangeCheck::kNotFinite:
      return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_FINITE,
                                "chunk.payload: a value that is not finite behind element {}", part.offset);
    case parameters::RangeCheck::kOutOfRange:
      return Admission::Refused(v1::SUBMIT_REFUSAL_OUT_OF_RANGE,
                                "chunk.payload: a value over {} behind element {}", limits_.max_element,
                                part.offset);
  }
  if (limits_.norm) sum_of_squares_ += parameters::SumOfSquares(*values);
  return std::nullopt;
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
