#include "fpga/model/fusion_image.h"

#include <bit>

namespace tributary::fpga {
namespace {

std::uint64_t Pair(float low, float high) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(high)} << 32 | std::bit_cast<std::uint32_t>(low);
}
float Low(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); }
float High(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32)); }

}  // namespace

void FusionTupleWords(std::span<const FusionTuple> tuples, std::span<std::uint64_t> words) {
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const FusionTuple& tuple = tuples[i];
    words[i * kFusionTupleWords] = Pair(tuple.x, tuple.y);
    words[i * kFusionTupleWords + 1] = Pair(tuple.l11, tuple.l21);
    words[i * kFusionTupleWords + 2] = Pair(tuple.l22, 0.0f);
  }
}

void FusionTuplesFromWords(std::span<const std::uint64_t> words, std::span<FusionTuple> tuples) {
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const std::uint64_t* word = &words[i * kFusionTupleWords];
    tuples[i] = {Low(word[0]), High(word[0]), Low(word[1]), High(word[1]), Low(word[2])};
  }
}

}  // namespace tributary::fpga
