#include "aggregator/learning/run/update_file.h"

#include <cstring>
#include <string>

namespace tributary {
namespace {

struct ChunkHead {
  std::uint64_t offset;
  std::uint32_t count;
  std::uint32_t bytes;
};

absl::Status ReadExactly(CheckedReader& file, char* buffer, std::size_t size) {
  absl::StatusOr<std::size_t> got = file.Read(buffer, size);
  if (!got.ok()) return got.status();
  return *got == size ? absl::OkStatus() : absl::DataLossError("a stored update ends early");
}

absl::Status GiveChunk(const EncodedElements& chunk, UpdateEncoding encoding, UpdateDecoder& decoder,
                       const UpdateSink& sink) {
  if (chunk.payload.size() != EncodedBytes(encoding, chunk.count)) {
    return absl::DataLossError("a stored update has a chunk of another size");
  }
  absl::Status status;
  for (std::uint64_t first = 0; status.ok() && first < chunk.count; first += kElementsPerPart) {
    const auto [offset, count, payload] = PartOf(encoding, chunk, first);
    if (encoding == UpdateEncoding::kFixed32) {
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

absl::Status AppendChunk(DurableFile& file, const UpdateChunk& chunk) {
  const ChunkHead head{chunk.offset, chunk.count, static_cast<std::uint32_t>(chunk.payload.size())};
  absl::Status status = file.Append({reinterpret_cast<const char*>(&head), sizeof head});
  return status.ok() ? file.Append(chunk.payload) : status;
}

absl::Status ReadUpdate(CheckedReader& file, UpdateEncoding encoding, std::uint64_t element_count,
                        const UpdateSink& sink) {
  UpdateDecoder decoder(encoding, element_count);
  std::string payload;
  while (file.remaining() > 0) {
    ChunkHead head{};
    char bytes[sizeof head];
    if (absl::Status status = ReadExactly(file, bytes, sizeof bytes); !status.ok()) return status;
    std::memcpy(&head, bytes, sizeof head);
    if (head.bytes > kMaxChunkBytes) return absl::DataLossError("a stored update has a broken chunk");
    payload.resize(head.bytes);
    if (absl::Status status = ReadExactly(file, payload.data(), payload.size()); !status.ok()) return status;
    absl::Status status = GiveChunk({head.offset, head.count, payload}, encoding, decoder, sink);
    if (!status.ok()) return status;
  }
  return decoder.complete() ? absl::OkStatus() : absl::DataLossError("a stored update ends early");
}

}  // namespace tributary
