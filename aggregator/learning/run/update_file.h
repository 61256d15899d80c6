// An update as the store keeps it until its round is committed: its chunks as they came.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "aggregator/learning/round/admission.h"
#include "aggregator/store/durable_file.h"
#include "core/parameters/update_encoding.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// An accepted update: what its node said of it, and where its elements are.
struct KeptUpdate {
  v1::StoredUpdate record;
  store::FileFacts file;

  const v1::UpdateHeader& header() const { return record.header(); }
};

// The bytes that are kept of a chunk: a head, then the payload.
std::string ChunkHeadBytes(const v1::UpdateChunk& chunk);

// Gets the decoded elements from `offset` on; one of the two is empty. What it returns ends the reading.
using UpdateSink = std::function<absl::Status(std::uint64_t offset, std::span<const float> values,
                                              std::span<const std::int64_t> words)>;

// Decodes the next chunk, part by part. Errors: those of UpdateDecoder and of the sink.
absl::Status DecodeChunk(const parameters::EncodedElements& chunk, parameters::UpdateEncoding encoding,
                         parameters::UpdateDecoder& decoder, const UpdateSink& sink);

// Reads the whole update, chunk by chunk. DataLoss if it is not what was written: what the sink has got must
// then not be used.
absl::Status ReadUpdate(store::CheckedReader& file, parameters::UpdateEncoding encoding,
                        std::uint64_t element_count, const UpdateSink& sink);
// The same from memory.
absl::Status ReadUpdate(std::string_view bytes, parameters::UpdateEncoding encoding,
                        std::uint64_t element_count, const UpdateSink& sink);

}  // namespace tributary::learning
