#include "fpga/model/positioning_image.h"

#include <utility>

namespace tributary::fpga {
namespace {

// Fills words of 64 bits from the low end; Align() starts the next one.
class WordWriter {
 public:
  void Put(std::int64_t value, int bits) {
    if (used_ == 0) words_.push_back(0);
    words_.back() |= (static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1)) << used_;
    used_ = (used_ + bits) % 64;
  }
  void Align() { used_ = 0; }
  std::vector<std::uint64_t> Take() { return std::move(words_); }

 private:
  std::vector<std::uint64_t> words_;
  int used_ = 0;
};

// Pairs of outputs: the two weights of an input stand side by side.
void PutPairs(const FixedDense& dense, std::size_t parallel, WordWriter& words) {
  for (std::size_t pair = 0; pair < dense.outputs; pair += 2) {
    for (std::size_t phase = 0; phase < dense.inputs; phase += parallel) {
      for (std::size_t i = phase; i < phase + parallel; ++i) {
        words.Put(dense.weights[pair * dense.inputs + i], 8);
        words.Put(dense.weights[(pair + 1) * dense.inputs + i], 8);
      }
      words.Align();
    }
  }
}

void PutBatchNorm(const FixedBatchNorm& norm, WordWriter& words) {
  for (std::size_t channel = 0; channel < norm.scale.size(); ++channel) {
    words.Put(norm.scale[channel], 16);
    words.Put(norm.offset[channel], 32);
    words.Align();
  }
}

// All weights of an input (or, gathering, of an output), `lanes` at a time, filled up with zeros.
void PutRows(const FixedDense& dense, bool gather, std::size_t lanes, WordWriter& words) {
  const std::size_t rows = gather ? dense.outputs : dense.inputs;
  const std::size_t columns = gather ? dense.inputs : dense.outputs;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t group = 0; group < columns; group += lanes) {
      for (std::size_t column = group; column < group + lanes; ++column) {
        const std::size_t at = gather ? row * dense.inputs + column : column * dense.inputs + row;
        words.Put(column < columns ? dense.weights[at] : 0, 16);
      }
      words.Align();
    }
  }
}

}  // namespace

std::vector<std::uint64_t> PositioningParameterWords(const FixedPositioning& fixed,
                                                     const PositioningParallelism& parallelism) {
  WordWriter words;
  for (const int shift : {fixed.dense[0].shift, fixed.batch_norm.shift, fixed.dense[1].shift,
                          fixed.dense[2].shift, fixed.dense[3].shift}) {
    words.Put(shift, 8);
  }
  words.Align();
  PutPairs(fixed.dense[0], parallelism.first_layer_inputs, words);
  PutBatchNorm(fixed.batch_norm, words);
  PutRows(fixed.dense[1], /*gather=*/false, parallelism.third_layer_inputs, words);
  PutRows(fixed.dense[2], /*gather=*/true, parallelism.third_layer_inputs, words);
  PutRows(fixed.dense[3], /*gather=*/false, 1, words);
  return words.Take();
}

std::vector<std::uint64_t> PositioningInputWords(std::span<const std::int32_t> features) {
  WordWriter words;
  for (const std::int32_t feature : features) words.Put(feature, 8);
  return words.Take();
}

void PositioningResults(std::span<const std::uint64_t> words, std::span<std::int32_t> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = static_cast<std::int32_t>(words[i / 2] >> (i % 2 * 32));
  }
}

}  // namespace tributary::fpga
