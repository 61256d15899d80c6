// One update on its way in: each chunk is checked and written to the store's file, nothing is added up yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/learning/round/admission.h"
#include "aggregator/learning/run/update_file.h"
#include "aggregator/store/durable_file.h"
#include "core/parameters/update_encoding.h"

namespace tributary::learning {

// Owns what has come, and one decoded part of a chunk: the first chunk is kept in memory, and all go into a
// file of their own once there is a second. One thread at a time. After a refusal it is to be given up: what
// it owns goes with it.
class Upload {
 public:
  struct Limits {
    float max_element = 0;  // largest |element|
    bool norm = false;      // whether the L2 norm is wanted
    // Largest |word| of a partial sum: what its contributors could have. Masked words have any value.
    double max_word = std::numeric_limits<double>::infinity();
    // The round under way, where only its updates can be taken: another one's gives up its place at the next
    // chunk. Null: any.
    std::shared_ptr<const std::atomic<std::uint32_t>> round_under_way = nullptr;
  };

  // `header` was admitted. `new_file` makes the file for what is larger than a chunk; thread-safe.
  using NewFile = std::function<absl::StatusOr<store::DurableFile>()>;
  Upload(v1::UpdateHeader header, const Limits& limits, NewFile new_file);

  // Nothing: it was taken.
  std::optional<Admission> Take(const v1::UpdateChunk& chunk);
  // Whether all has come.
  std::optional<Admission> Finish() const;

  const v1::UpdateHeader& header() const { return header_; }
  double norm() const;  // of what has come; 0 unless wanted
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  // Once it is whole.
  const std::string& bytes() const { return bytes_; }  // where there is no file
  std::optional<store::DurableFile> TakeFile() { return std::move(file_); }

 private:
  std::optional<Admission> CheckFrame(const v1::UpdateChunk& chunk) const;
  absl::Status CheckWords(std::uint64_t offset, std::span<const std::int64_t> words) const;
  absl::Status CheckValues(std::uint64_t offset, std::span<const float> values);
  absl::Status Keep(const v1::UpdateChunk& chunk);

  v1::UpdateHeader header_;
  Limits limits_;
  NewFile new_file_;
  std::string bytes_;  // as ReadUpdate takes them; empty once there is a file
  std::optional<store::DurableFile> file_;
  parameters::UpdateDecoder decoder_;
  double sum_of_squares_ = 0;
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace tributary::learning
