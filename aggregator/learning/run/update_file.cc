#include "aggregator/learning/run/update_file.h"

#include <cstring>
#include <optional>

#include "core/status/macros.h"

namespace tributary::learning {
namespace {

struct ChunkHead {
  std::uint64_t offset;
  std::uint32_t count;
  std::uint32_t bytes;
};

absl::Status EndsEarly() { return absl::DataLossError("a stored update ends early"); }

absl::StatusOr<ChunkHead> HeadOf(std::string_view bytes) {
  ChunkHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.bytes > parameters::kMaxChunkBytes)
    return absl::DataLossError("a stored update has a broken chunk");
  return head;
}

absl::Status GiveChunk(const parameters::EncodedElements& chunk, parameters::UpdateEncoding encoding,
                       parameters::UpdateDecoder& decoder, const UpdateSink& sink) {
  if (chunk.payload.size() != parameters::EncodedBytes(encoding, chunk.count)) {
    return absl::DataLossError("a stored update has a chunk of another size");
  }
  absl::Status status;
  for (std::uint64_t first = 0; status.ok() && first < chunk.count; first += parameters::kElementsPerPart) {
    const auto [offset, count, payload] = parameters::PartOf(encoding, chunk, first);
    if (encoding == parameters::UpdateEncoding::kFixed32) {
      auto words = decoder.DecodeFixed(offset, count, payload);
      status = words.ok() ? sink(offset, {}, *words) : absl::DataLossError(words.status().message());
    } else {
      auto values = decoder.Decode(offset, count, payload);
      status = values.ok() ? sink(offset, *values, {}) : absl::DataLossError(values.status().message());
    }
  }
  return status;
}

}  // namespace

std::string ChunkHeadBytes(const UpdateChunk& chunk) {
  const ChunkHead head{chunk.offset, chunk.count, static_cast<std::uint32_t>(chunk.payload.size())};
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

absl::Status ReadUpdate(store::CheckedReader& file, parameters::UpdateEncoding encoding,
                        std::uint64_t element_count, const UpdateSink& sink) {
  parameters::UpdateDecoder decoder(encoding, element_count);
  std::string bytes;
  const auto read = [&](std::size_t size) -> absl::Status {
    bytes.resize(size);
    ASSIGN_OR_RETURN(const std::size_t got, file.Read(bytes.data(), size));
    return got == size ? absl::OkStatus() : EndsEarly();
  };
  while (file.remaining() > 0) {
    RETURN_IF_ERROR(read(sizeof(ChunkHead)));
    ASSIGN_OR_RETURN(const ChunkHead head, HeadOf(bytes));
    RETURN_IF_ERROR(read(head.bytes));
    RETURN_IF_ERROR(GiveChunk({head.offset, head.count, bytes}, encoding, decoder, sink));
  }
  return decoder.complete() ? absl::OkStatus() : EndsEarly();
}

absl::Status ReadUpdate(std::string_view bytes, parameters::UpdateEncoding encoding,
                        std::uint64_t element_count, const UpdateSink& sink) {
  parameters::UpdateDecoder decoder(encoding, element_count);
  while (!bytes.empty()) {
    if (bytes.size() < sizeof(ChunkHead)) return EndsEarly();
    ASSIGN_OR_RETURN(const ChunkHead head, HeadOf(bytes));
    bytes.remove_prefix(sizeof head);
    if (bytes.size() < head.bytes) return EndsEarly();
    RETURN_IF_ERROR(
        GiveChunk({head.offset, head.count, bytes.substr(0, head.bytes)}, encoding, decoder, sink));
    bytes.remove_prefix(head.bytes);
  }
  return decoder.complete() ? absl::OkStatus() : EndsEarly();
}

}  // namespace tributary::learning
