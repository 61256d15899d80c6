// One update on its way in: each chunk is checked and written to the store's file, nothing is added up yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/learning/round/submission.h"
#include "aggregator/store/durable_file.h"
#include "core/parameters/update_encoding.h"

namespace tributary {

struct UploadRefusal {
  SubmissionRefusal reason = SubmissionRefusal::kUnspecified;
  std::string message;
};

// A chunk as it travels and as it is kept.
struct UpdateChunk {
  std::uint64_t offset = 0;  // elements
  std::uint32_t count = 0;
  std::string_view payload;
  std::uint32_t crc32c = 0;
};

// Owns the file until it is taken, and one decoded part of a chunk. One thread at a time. After a refusal it
// is to be given up: its file goes with it.
class Upload {
 public:
  struct Limits {
    float max_element = 0;  // largest |element|
    bool norm = false;      // whether the L2 norm is wanted
    // The round under way, where only its updates can be taken: another one's gives up its place at the next
    // chunk. Null: any.
    std::shared_ptr<const std::atomic<std::uint32_t>> round_under_way = nullptr;
  };

  // `header` was admitted.
  Upload(SubmissionHeader header, const Limits& limits, DurableFile file);

  // Nothing: it was taken.
  std::optional<UploadRefusal> Take(const UpdateChunk& chunk);
  // Whether all has come.
  std::optional<UploadRefusal> Finish() const;

  const SubmissionHeader& header() const { return header_; }
  double norm() const;  // of what has come; 0 unless wanted
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  DurableFile TakeFile() { return std::move(file_); }

 private:
  std::optional<UploadRefusal> CheckFrame(const UpdateChunk& chunk) const;
  std::optional<UploadRefusal> CheckValues(const EncodedElements& part);
  std::optional<UploadRefusal> Keep(const UpdateChunk& chunk);

  SubmissionHeader header_;
  Limits limits_;
  DurableFile file_;
  UpdateDecoder decoder_;
  double sum_of_squares_ = 0;
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace tributary
