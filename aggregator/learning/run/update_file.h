// An update as the store keeps it until its round is committed: its chunks as they came.
#pragma once

#include <functional>
#include <span>

#include "absl/status/status.h"
#include "aggregator/learning/service/upload.h"
#include "aggregator/store/durable_file.h"

namespace tributary {

absl::Status AppendChunk(DurableFile& file, const UpdateChunk& chunk);

// Gets the decoded elements from `offset` on; one of the two is empty. What it returns ends the reading.
using UpdateSink = std::function<absl::Status(std::uint64_t offset, std::span<const float> values,
                                              std::span<const std::int32_t> words)>;

// Reads the whole update, chunk by chunk. DataLoss if it is not what was written: what the sink has got must
// then not be used.
absl::Status ReadUpdate(CheckedReader& file, UpdateEncoding encoding, std::uint64_t element_count,
                        const UpdateSink& sink);

}  // namespace tributary
