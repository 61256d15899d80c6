#include "node/accelerator/modulation_kernels.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "node/accelerator/modulation_kernels.cc"
#include "hwy/foreach_target.h"

// After foreach_target.h, which compiles it once per target.
#include "node/accelerator/dense_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::accelerator::HWY_NAMESPACE {
namespace {

using Layer = PackedModulation::Layer;
using FloatLayer = PackedFloatModulation::Layer;

constexpr std::size_t kSamples = fpga::kModulationSamples;
constexpr std::size_t kBurst = fpga::kModulationInputs;
constexpr std::size_t kClasses = fpga::kModulationClasses;

// I in the lower half of a word of 32 or 16 bits, Q in the upper half.
void StorePairs(VI i, VI q, std::int16_t* words) {
  const auto pairs = hn::Or(hn::And(i, hn::Set(I32(), 0xffff)), hn::ShiftLeft<16>(q));
  hn::StoreU(pairs, I32(), reinterpret_cast<std::int32_t*>(words));
}

// Quads take unsigned words: 128 is added here, and taken off by the layer's offsets.
void StorePairs(VI i, VI q, std::uint8_t* words) {
  const hn::Rebind<std::uint16_t, I32> u16;
  const auto shift = hn::Set(I32(), 128);
  const auto pairs = hn::Or(hn::Add(i, shift), hn::ShiftLeft<8>(hn::Add(q, shift)));
  hn::StoreU(hn::DemoteTo(u16, pairs), u16, reinterpret_cast<std::uint16_t*>(words));
}

// Whether all samples are finite, without a branch for each.
class Finite {
 public:
  // Not a member's initialiser: GCC would compile that for another instruction set.
  HWY_INLINE Finite() : largest_(hn::Zero(I32())) {}

  HWY_INLINE void Add(VF samples) {
    const auto magnitude = hn::And(hn::BitCast(I32(), samples), hn::Set(I32(), 0x7FFFFFFF));
    largest_ = hn::Max(largest_, magnitude);
  }
  HWY_INLINE bool All() const {
    constexpr std::int32_t kInfinityBits = 0x7F800000;
    return hn::GetLane(hn::MaxOfLanes(I32(), largest_)) < kInfinityBits;
  }

 private:
  VI largest_;
};

// Samples [2 × 128] to words [128 × 2] as fpga::QuantiseSample; false if one is not finite.
template <typename Word>
bool QuantiseBurst(float gain, const float* burst, Word* words) {
  const F32 f32;
  Finite finite;
  const auto quantise = [&](const float* from) {
    const auto samples = hn::LoadU(f32, from);
    finite.Add(samples);
    const auto scaled = hn::Mul(samples, hn::Set(f32, gain));
    return hn::NearestInt(hn::Min(hn::Max(scaled, hn::Set(f32, -127.0f)), hn::Set(f32, 127.0f)));
  };
  for (std::size_t i = 0; i < kSamples; i += hn::Lanes(f32)) {
    StorePairs(quantise(burst + i), quantise(burst + kSamples + i), words + 2 * i);
  }
  return finite.All();
}

// (sums · multiplier + offset) >> kShift of the outputs from `output` on. It fits 32 bits.
template <int kShift>
HWY_INLINE VI Scale(const Layer& layer, std::size_t output, VI sums) {
#if HWY_TARGET == HWY_SCALAR
  const auto& offsets = output % 2 == 0 ? layer.even_offset : layer.odd_offset;
  const std::int64_t scaled =
      std::int64_t{hn::GetLane(sums)} * layer.multiplier[output] + offsets[output / 2];
  return hn::Set(I32(), static_cast<std::int32_t>(scaled >> kShift));
#else
  const hn::Repartition<std::int64_t, I32> i64;
  const hn::Repartition<std::uint64_t, I32> u64;
  const auto odd_lanes = [&](VI lanes) {
    return hn::BitCast(I32(), hn::ShiftRight<32>(hn::BitCast(u64, lanes)));
  };
  const auto multiplier = hn::LoadU(I32(), layer.multiplier.get() + output);
  const auto even =
      hn::Add(hn::MulEven(sums, multiplier), hn::LoadU(i64, layer.even_offset.get() + output / 2));
  const auto odd = hn::Add(hn::MulEven(odd_lanes(sums), odd_lanes(multiplier)),
                           hn::LoadU(i64, layer.odd_offset.get() + output / 2));
  // The bits from kShift on become the lower half of the even lanes and the upper half of the odd ones.
  return hn::OddEven(hn::BitCast(I32(), hn::ShiftLeft<32 - kShift>(odd)),
                     hn::BitCast(I32(), hn::ShiftRight<kShift>(hn::BitCast(u64, even))));
#endif
}

// Rows of sums (two for each result if it is pooled) to result words [rows × outputs]. A last block writes
// words beyond its row; the next row replaces them.
template <typename Word>
void StoreHidden(const Layer& layer, const std::int32_t* sums, std::size_t rows, Word* results) {
  const I32 i32;
  const hn::Rebind<Word, I32> narrow;
  const std::size_t width = layer.weights.width();
  const bool pool = layer.shape.pool;
  for (std::size_t row = 0; row < rows; ++row, sums += pool ? 2 * width : width) {
    for (std::size_t output = 0; output < width; output += hn::Lanes(i32)) {
      auto sum = hn::LoadU(i32, sums + output);
      // Scaling keeps the order of two sums: the multiplier is not negative.
      if (pool) sum = hn::Max(sum, hn::LoadU(i32, sums + width + output));
      const auto scaled = Scale<fpga::Int8Layer::kHiddenShift>(layer, output, sum);
      const auto word = hn::Min(hn::Max(scaled, hn::Zero(i32)), hn::Set(i32, 127));
      hn::StoreU(hn::DemoteTo(narrow, word), narrow, results + row * layer.shape.outputs + output);
    }
  }
}

// Sums of the last layer [rows × width] to logits [rows × 10].
void StoreLogits(const Layer& layer, float unit, const std::int32_t* sums, std::size_t rows, float* logits) {
  static_assert(kClasses <= kBlockOutputs);
  const F32 f32;
  const I32 i32;
  float block[kBlockOutputs];
  for (std::size_t row = 0; row < rows; ++row, sums += layer.weights.width()) {
    for (std::size_t output = 0; output < kBlockOutputs; output += hn::Lanes(i32)) {
      const auto scaled = Scale<fpga::Int8Layer::kLogitShift>(layer, output, hn::LoadU(i32, sums + output));
      const auto word = hn::Min(hn::Max(scaled, hn::Set(i32, -32768)), hn::Set(i32, 32767));
      hn::StoreU(hn::Mul(hn::ConvertTo(f32, word), hn::Set(f32, unit)), f32, block + output);
    }
    std::copy_n(block, kClasses, logits + row * kClasses);
  }
}

// Samples [2 × 128] to words [128 × 2]; false if one is not finite.
bool InterleaveBurst(const float* burst, float* words) {
  const F32 f32;
  Finite finite;
  for (std::size_t i = 0; i < kSamples; i += hn::Lanes(f32)) {
    const auto in_phase = hn::LoadU(f32, burst + i);
    const auto quadrature = hn::LoadU(f32, burst + kSamples + i);
    finite.Add(in_phase);
    finite.Add(quadrature);
    hn::StoreInterleaved2(in_phase, quadrature, f32, words + 2 * i);
  }
  return finite.All();
}

// As in 8 bits.
void StoreHidden(const FloatLayer& layer, const float* sums, std::size_t rows, float* results) {
  const F32 f32;
  const std::size_t width = layer.weights.width();
  const bool pool = layer.shape.pool;
  for (std::size_t row = 0; row < rows; ++row, sums += pool ? 2 * width : width) {
    for (std::size_t output = 0; output < width; output += hn::Lanes(f32)) {
      auto sum = hn::LoadU(f32, sums + output);
      if (pool) sum = hn::Max(sum, hn::LoadU(f32, sums + width + output));
      const auto value = hn::Add(sum, hn::LoadU(f32, layer.bias.get() + output));
      hn::StoreU(hn::Max(value, hn::Zero(f32)), f32, results + row * layer.shape.outputs + output);
    }
  }
}

void StoreLogits(const FloatLayer& layer, const float* sums, std::size_t rows, float* logits) {
  for (std::size_t row = 0; row < rows; ++row, sums += layer.weights.width()) {
    for (std::size_t k = 0; k < kClasses; ++k) logits[row * kClasses + k] = sums[k] + layer.bias[k];
  }
}

// Calls store(rows, first burst) with the sums of one burst's convolution, or with those of a dense layer for
// all bursts; rows are those of the results.
template <class Kind, class Packed, typename Word, typename Store>
void MultiplyLayer(Packed& packed, const typename Packed::Layer& layer, const Word* inputs,
                   std::size_t bursts, Store store) {
  const fpga::ModulationShape& shape = layer.shape;
  const std::size_t burst_words = shape.positions * shape.channels;
  const auto multiply = [&](std::size_t first, std::size_t row_words, std::size_t rows) {
    Multiply<Kind>(inputs + first * burst_words, row_words * sizeof(Word), rows, layer.weights, 0,
                   layer.weights.groups, packed.sums.get());
  };
  if (shape.convolved() == 1) {
    multiply(0, burst_words, bursts);
    return store(bursts, 0);
  }
  for (std::size_t burst = 0; burst < bursts; ++burst) {
    multiply(burst, shape.channels, shape.results() * (shape.pool ? 2 : 1));
    store(shape.results(), burst);
  }
}

// Runs the layers on `bursts` bursts whose words are in packed.words[0]: store_logits(rows) takes the sums of
// the last.
template <class Kind, typename Word, class Packed, typename StoreLast>
void RunLayers(Packed& packed, std::size_t bursts, StoreLast store_logits) {
  auto* inputs = reinterpret_cast<Word*>(packed.words[0].get());
  auto* results = reinterpret_cast<Word*>(packed.words[1].get());
  const auto& last = packed.layers.back();
  for (const auto& layer : packed.layers) {
    if (&layer == &last) break;
    MultiplyLayer<Kind>(packed, layer, inputs, bursts, [&](std::size_t rows, std::size_t burst) {
      StoreHidden(layer, packed.sums.get(), rows,
                  results + burst * layer.shape.results() * layer.shape.outputs);
    });
    std::swap(inputs, results);
  }
  MultiplyLayer<Kind>(packed, last, inputs, bursts,
                      [&](std::size_t rows, std::size_t) { store_logits(rows); });
}

void FillMissing(const bool* finite, std::size_t bursts, float* logits) {
  for (std::size_t i = 0; i < bursts; ++i) {
    if (!finite[i]) std::fill_n(logits + i * kClasses, kClasses, std::numeric_limits<float>::quiet_NaN());
  }
}

// At most kPassBursts bursts.
template <class Kind, typename Word>
void RunPass(PackedModulation& packed, const float* bursts, std::size_t count, float* logits) {
  auto* words = reinterpret_cast<Word*>(packed.words[0].get());
  bool finite[kPassBursts];
  for (std::size_t i = 0; i < count; ++i) {
    finite[i] = QuantiseBurst(packed.input_gain, bursts + i * kBurst, words + i * kBurst);
  }
  RunLayers<Kind, Word>(packed, count, [&](std::size_t rows) {
    StoreLogits(packed.layers.back(), packed.logit_unit, packed.sums.get(), rows, logits);
  });
  FillMissing(finite, count, logits);
}

void RunPass(PackedFloatModulation& packed, const float* bursts, std::size_t count, float* logits) {
  float* words = packed.words[0].get();
  bool finite[kPassBursts];
  for (std::size_t i = 0; i < count; ++i) {
    finite[i] = InterleaveBurst(bursts + i * kBurst, words + i * kBurst);
  }
  RunLayers<Floats, float>(packed, count, [&](std::size_t rows) {
    StoreLogits(packed.layers.back(), packed.sums.get(), rows, logits);
  });
  FillMissing(finite, count, logits);
}

// Calls run(bursts, count, logits) for each pass.
template <typename Run>
void ForEachPass(const float* bursts, std::size_t batch, float* logits, Run run) {
  for (std::size_t first = 0; first < batch; first += kPassBursts) {
    run(bursts + first * kBurst, std::min(kPassBursts, batch - first), logits + first * kClasses);
  }
}

void InferInt8(PackedModulation& packed, const float* bursts, std::size_t batch, float* logits) {
  ForEachPass(bursts, batch, logits, [&](const float* from, std::size_t count, float* to) {
    if (packed.quads) {
      RunPass<Quads, std::uint8_t>(packed, from, count, to);
    } else {
      RunPass<Pairs, std::int16_t>(packed, from, count, to);
    }
  });
}

void InferFloat(PackedFloatModulation& packed, const float* bursts, std::size_t batch, float* logits) {
  ForEachPass(bursts, batch, logits,
              [&](const float* from, std::size_t count, float* to) { RunPass(packed, from, count, to); });
}

}  // namespace
}  // namespace tributary::accelerator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::accelerator {

HWY_EXPORT(InferInt8);
HWY_EXPORT(InferFloat);

void RunModulation(PackedModulation& packed, const float* bursts, std::size_t batch, float* logits) {
  HWY_DYNAMIC_DISPATCH(InferInt8)(packed, bursts, batch, logits);
}

void RunFloatModulation(PackedFloatModulation& packed, const float* bursts, std::size_t batch,
                        float* logits) {
  HWY_DYNAMIC_DISPATCH(InferFloat)(packed, bursts, batch, logits);
}

}  // namespace tributary::accelerator
#endif
