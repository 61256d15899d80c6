// How the elements of an update travel from node to aggregator: chunks of a flat vector, encoded.
//
// Bytes per element, little-endian: float32 4; float16 2; int8 1; int12 1.5; fixed32 4, fixed64 8 (words of
// fixed_point.h, already weighted). Two int12 take three bytes: low byte of the first, its high nibble below
// the low nibble of the second, high byte of the second. The second nibble and byte after an odd last element
// are zero. int8 and int12 come in blocks of kEncodingBlock elements (the last one of an update may be
// shorter), each after its scale as float32. An element is scale × integer, the integer within ±127 or ±2047.
//
// topk has such blocks, too, with 3 bytes for each 32 elements or part of them (0.1 bytes per element): the
// elements of largest magnitude in the block, each as its place in the block (two bytes, ascending) and its
// int8. All others are zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::parameters {

// The numbers are those of UpdateEncoding in federation.proto.
enum class UpdateEncoding : std::uint8_t {
  kFloat32 = 1,
  kFloat16 = 2,
  kInt8 = 3,
  kInt12 = 4,
  kFixed32 = 5,
  kFixed64 = 6,
  kTopK = 7,
};

// "float32", "float16", "int8", "int12", "fixed32", "fixed64", "topk".
std::string_view UpdateEncodingName(UpdateEncoding encoding);

// Whether elements come as words of the round's fixed point, not as values.
constexpr bool HasWords(UpdateEncoding encoding) {
  return encoding == UpdateEncoding::kFixed32 || encoding == UpdateEncoding::kFixed64;
}

inline constexpr std::size_t kEncodingBlock = 1024;
inline constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 20;

// Bytes of `elements` elements, block by block from the first.
std::size_t EncodedBytes(UpdateEncoding encoding, std::size_t elements);

// A chunk that is decoded takes no more memory than this asks for, however well it is packed.
inline constexpr std::size_t kMaxChunkElements = std::size_t{1} << 20;

// Elements of every chunk except the last: whole blocks, at most kMaxChunkBytes encoded.
std::size_t ElementsPerChunk(UpdateEncoding encoding);

// Encoded elements; `offset` in elements.
struct EncodedElements {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::string_view payload;
};

// Decode a chunk in parts of this many elements: they stay in the cache, and take no more memory.
inline constexpr std::size_t kElementsPerPart = 64 * kEncodingBlock;

// The part of `chunk` from its element `first` on, a multiple of kElementsPerPart below its count. The
// payload must have the size that its count asks for.
EncodedElements PartOf(UpdateEncoding encoding, const EncodedElements& chunk, std::uint64_t first);

// Replaces `payload` by the encoded values (any number, from the start of a block), and the values by the
// encoding's error (value − decoded; zero for float32). For error feedback a node adds that to the same
// elements of its next update. Not for words. Errors, without effect: InvalidArgument, naming the element,
// for a value that is not finite or, as float16, over 65,504.
absl::Status EncodeChunk(UpdateEncoding encoding, std::span<float> values, std::string& payload);

// Encodes words as kFixed32 (a masked update, a partial sum) or kFixed64 (a partial sum).
void EncodeFixedChunk(std::span<const std::int32_t> words, std::string& payload);
void EncodeFixedChunk(std::span<const std::int64_t> words, std::string& payload);

// Takes the chunks of one update in order. Keeps one chunk. One thread at a time.
//
// Errors: FailedPrecondition for a chunk that does not follow the one before; ResourceExhausted for one over
// kMaxChunkBytes or kMaxChunkElements, or past the end of the update; DataLoss for one that is empty, has
// another size than its count asks for, ends within a block although more follows, or has wrong padding;
// InvalidArgument for values or scales that are not finite, and for places that do not ascend. Give the
// update up after an error.
class UpdateDecoder {
 public:
  UpdateDecoder(UpdateEncoding encoding, std::size_t element_count)
      : encoding_(encoding), element_count_(element_count) {}

  // `offset` and `count` in elements; the result has `count`. It is valid until the next call and as long as
  // `payload`, since aligned float32 is read in place. Not for words.
  absl::StatusOr<std::span<const float>> Decode(std::uint64_t offset, std::uint64_t count,
                                                std::string_view payload);
  // Decodes words.
  absl::StatusOr<std::span<const std::int64_t>> DecodeFixed(std::uint64_t offset, std::uint64_t count,
                                                            std::string_view payload);
  bool has_words() const { return HasWords(encoding_); }

  // Whether all elements have arrived.
  bool complete() const { return next_ == element_count_; }
  std::size_t next_offset() const { return next_; }

 private:
  absl::Status CheckChunk(std::uint64_t offset, std::uint64_t count, std::string_view payload) const;

  UpdateEncoding encoding_;
  std::size_t element_count_;
  std::size_t next_ = 0;
  std::vector<float> values_;
  std::vector<std::int64_t> words_;
};

// The squared L2 norm, for clipping; in double, the same on every processor.
double SumOfSquares(std::span<const float> values);

}  // namespace tributary::parameters
