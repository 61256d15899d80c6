#include "aggregator/learning/run/update_file.h"

#include <cstring>

#include "core/status/macros.h"

namespace tributary::learning {
namespace {

struct ChunkHead {
  std::uint64_t offset;
  std::uint32_t count;
  std::uint32_t bytes;
};

absl::Status EndsEarly() { return absl::DataLossError("a stored update ends early"); }

// `next` gives so many more bytes; it fails where there are fewer.
template <class Next>
absl::Status GiveNextChunk(const Next& next, parameters::UpdateEncoding encoding,
                           parameters::UpdateDecoder& decoder, const UpdateSink& sink) {
  ChunkHead head{};
  ASSIGN_OR_RETURN(const std::string_view bytes, next(sizeof head));
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.bytes > parameters::kMaxChunkBytes) {
    return absl::DataLossError("a stored update has a broken chunk");
  }
  ASSIGN_OR_RETURN(const std::string_view payload, next(head.bytes));
  const absl::Status status = DecodeChunk({head.offset, head.count, payload}, encoding, decoder, sink);
  return status.ok() ? status : absl::DataLossError(status.message());
}

}  // namespace

std::string ChunkHeadBytes(const v1::UpdateChunk& chunk) {
  const ChunkHead head{chunk.offset(), chunk.count(), static_cast<std::uint32_t>(chunk.payload().size())};
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

absl::Status DecodeChunk(const parameters::EncodedElements& chunk, parameters::UpdateEncoding encoding,
                         parameters::UpdateDecoder& decoder, const UpdateSink& sink) {
  if (chunk.payload.size() != parameters::EncodedBytes(encoding, chunk.count)) {
    return absl::DataLossError("a chunk of another size than its count asks for");
  }
  for (std::uint64_t first = 0; first < chunk.count; first += parameters::kElementsPerPart) {
    const auto [offset, count, payload] = parameters::PartOf(encoding, chunk, first);
    if (decoder.has_words()) {
      ASSIGN_OR_RETURN(const auto words, decoder.DecodeFixed(offset, count, payload));
      RETURN_IF_ERROR(sink(offset, {}, words));
    } else {
      ASSIGN_OR_RETURN(const auto values, decoder.Decode(offset, count, payload));
      RETURN_IF_ERROR(sink(offset, values, {}));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadUpdate(store::CheckedReader& file, parameters::UpdateEncoding encoding,
                        std::uint64_t element_count, const UpdateSink& sink) {
  parameters::UpdateDecoder decoder(encoding, element_count);
  std::string bytes;
  const auto next = [&](std::size_t size) -> absl::StatusOr<std::string_view> {
    bytes.resize(size);
    ASSIGN_OR_RETURN(const std::size_t got, file.Read(bytes.data(), size));
    if (got < size) return EndsEarly();
    return bytes;
  };
  while (file.remaining() > 0) RETURN_IF_ERROR(GiveNextChunk(next, encoding, decoder, sink));
  return decoder.complete() ? absl::OkStatus() : EndsEarly();
}

absl::Status ReadUpdate(std::string_view bytes, parameters::UpdateEncoding encoding,
                        std::uint64_t element_count, const UpdateSink& sink) {
  parameters::UpdateDecoder decoder(encoding, element_count);
  const auto next = [&](std::size_t size) -> absl::StatusOr<std::string_view> {
    if (bytes.size() < size) return EndsEarly();
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  };
  while (!bytes.empty()) RETURN_IF_ERROR(GiveNextChunk(next, encoding, decoder, sink));
  return decoder.complete() ? absl::OkStatus() : EndsEarly();
}

}  // namespace tributary::learning
