#include "node/accelerator/positioning_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "node/accelerator/positioning_kernels.cc"
#include "fpga/model/fixed_point.h"
#include "hwy/foreach_target.h"

// After foreach_target.h, which compiles it once per target.
#include "node/accelerator/dense_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::accelerator::HWY_NAMESPACE {

constexpr std::size_t kInputs = fpga::FixedPositioning::kInputs;
constexpr std::size_t kOutputs = fpga::FixedPositioning::kOutputs;

template <typename T>
void StoreWords(VF values, float lowest, float highest, T* words) {
  const F32 f32;
  const auto clamped = hn::Min(hn::Max(values, hn::Set(f32, lowest)), hn::Set(f32, highest));
  const hn::Rebind<T, I32> narrow;
  hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(clamped)), narrow, words);
}

void StoreWords(VF values, float, float, float* words) { hn::StoreU(values, F32(), words); }

// With the first antenna as the reference, its first subcarrier is real by definition.
template <typename T>
bool PrepareReference(const fpga::PositioningInput& input, std::size_t i, float aligned, T* words) {
  const float value = (aligned - input.mean[i]) * input.gain[i];
  if (!std::isfinite(value)) return false;
  if constexpr (std::is_same_v<T, float>) {
    words[i] = value;
  } else {
    words[i] = static_cast<T>(fpga::QuantiseFeature(input, value));
  }
  return true;
}

template <typename T>
bool Prepare(const fpga::PositioningInput& input, const float* features, T* words) {
  constexpr std::size_t kHalf = kInputs / 2;
  const F32 f32;
  const I32 i32;
  const fpga::PhaseRotation rotation =
      fpga::AlignmentOf(nn::PhaseReference(input.alignment, nn::ConstFeatureSpan(features, kInputs)));
  const auto cosine = hn::Set(f32, rotation.cosine);
  const auto sine = hn::Set(f32, rotation.sine);
  const auto magnitude_bits = hn::Set(i32, 0x7FFFFFFF);
  auto largest = hn::Zero(i32);
  const auto standardise = [&](VF aligned, std::size_t i) {
    const auto centred = hn::Sub(aligned, hn::LoadU(f32, input.mean.data() + i));
    const auto value = hn::Mul(centred, hn::LoadU(f32, input.gain.data() + i));
    largest = hn::Max(largest, hn::And(hn::BitCast(i32, value), magnitude_bits));
    StoreWords(value, input.lowest, input.highest, words + i);
  };
  for (std::size_t i = 0; i < kHalf; i += hn::Lanes(f32)) {
    const auto re = hn::LoadU(f32, features + i);
    const auto im = hn::LoadU(f32, features + kHalf + i);
    standardise(hn::Add(hn::Mul(re, cosine), hn::Mul(im, sine)), i);
    standardise(hn::Sub(hn::Mul(im, cosine), hn::Mul(re, sine)), kHalf + i);
  }
  constexpr std::int32_t kInfinityBits = 0x7F800000;
  const bool finite = hn::GetLane(hn::MaxOfLanes(i32, largest)) < kInfinityBits;
  if (input.alignment != nn::PhaseAlignment::kFirstAntenna) return finite;
  return PrepareReference(input, 0, rotation.magnitude, words) &&
         PrepareReference(input, kHalf, 0.0f, words) && finite;
}

bool PrepareBytes(const fpga::PositioningInput& input, const float* features, std::int8_t* words) {
  return Prepare(input, features, words);
}

template <typename T>
void PrepareBatch(const fpga::PositioningInput& input, const float* features, std::size_t batch, T* words,
                  std::vector<char>& finite) {
  for (std::size_t i = 0; i < batch; ++i) {
    finite[i] = Prepare(input, features + i * kInputs, words + i * kInputs);
  }
}

// Adds 256 · high + low to the sums that quotient (of 256) and remainder hold; all [count].
void AddSplitSums(const std::int32_t* high, const std::int32_t* low, std::size_t count,
                  std::int32_t* quotient, std::int32_t* remainder) {
  const I32 i32;
  for (std::size_t i = 0; i < count; i += hn::Lanes(i32)) {
    const auto sum = hn::Add(hn::LoadU(i32, low + i), hn::LoadU(i32, remainder + i));
    const auto carried = hn::Add(hn::LoadU(i32, high + i), hn::ShiftRight<8>(sum));
    hn::StoreU(hn::Add(hn::LoadU(i32, quotient + i), carried), i32, quotient + i);
    hn::StoreU(hn::And(sum, hn::Set(i32, 255)), i32, remainder + i);
  }
}

// Leaves floor(sums / 256) in packed.sums. The bits below do not affect the rounding, since at least 9 are
// dropped.
void MultiplySplit(PackedFixed& packed, const PackedFixed::Layer& layer, const std::int16_t* inputs,
                   std::size_t stride, std::size_t rows) {
  // 16-bit inputs times the unsigned low half of 16-bit weights: 256 · 2^15 · 255 < 2^31.
  constexpr std::size_t kSplitGroups = 256 / 2;
  const std::size_t row_bytes = stride * sizeof(*inputs);
  const std::size_t count = rows * layer.low.width();
  std::fill_n(packed.sums.get(), count, 0);
  std::fill_n(packed.remainders.get(), count, 0);
  for (std::size_t first = 0; first < layer.low.groups; first += kSplitGroups) {
    const std::size_t groups = std::min(kSplitGroups, layer.low.groups - first);
    Multiply<Pairs>(inputs + 2 * first, row_bytes, rows, layer.high, first, groups, packed.high.get());
    Multiply<Pairs>(inputs + 2 * first, row_bytes, rows, layer.low, first, groups, packed.low.get());
    AddSplitSums(packed.high.get(), packed.low.get(), count, packed.sums.get(), packed.remainders.get());
  }
}

// The saturated words of sums, as fpga::RoundShift and fpga::Saturate give them.
class Rounding {
 public:
  Rounding(int shift, int bits, bool rectified)
      : shift_(shift),
        half_(hn::Set(I32(), 1 << (shift - 1))),
        lowest_(hn::Set(I32(), rectified ? 0 : static_cast<std::int32_t>(fpga::MinWord(bits)))),
        highest_(hn::Set(I32(), static_cast<std::int32_t>(fpga::MaxWord(bits)))) {}

  HWY_INLINE void Store(VI sum, std::int16_t* words) const {
    const hn::Rebind<std::int16_t, I32> i16;
    const auto rounded = hn::ShiftRightSame(hn::Add(sum, half_), shift_);
    hn::StoreU(hn::DemoteTo(i16, hn::Min(hn::Max(rounded, lowest_), highest_)), i16, words);
  }

 private:
  int shift_;
  VI half_, lowest_, highest_;
};

// One dense layer: input words [rows × stride] to result words [rows × width].
void RunLayer(PackedFixed& packed, std::size_t index, const std::int16_t* inputs, std::size_t stride,
              std::size_t rows, std::int16_t* results) {
  const PackedFixed::Layer& layer = packed.layers[index];
  const fpga::FixedDense& dense = packed.network.dense[index];
  const I32 i32;
  const std::size_t width = layer.low.width();
  std::int32_t* sums = packed.sums.get();
  int shift = dense.shift;
  if (layer.high.words != nullptr) {
    MultiplySplit(packed, layer, inputs, stride, rows);
    shift -= 8;
  } else if (index == 0 && packed.quad_offset != nullptr) {
    Multiply<Quads>(packed.bytes.get(), kInputs, rows, layer.low, 0, layer.low.groups, sums);
    for (std::size_t i = 0; i < width; i += hn::Lanes(i32)) {
      const auto offset = hn::LoadU(i32, packed.quad_offset.get() + i);
      for (std::int32_t* sum = sums + i; sum < sums + rows * width; sum += width) {
        hn::StoreU(hn::Add(hn::LoadU(i32, sum), offset), i32, sum);
      }
    }
  } else {
    Multiply<Pairs>(inputs, stride * sizeof(*inputs), rows, layer.low, 0, layer.low.groups, sums);
  }
  const Rounding rounding(shift, dense.result_bits, dense.rectified);
  for (std::size_t i = 0; i < rows * width; i += hn::Lanes(i32)) {
    rounding.Store(hn::LoadU(i32, sums + i), results + i);
  }
}

// words [rows × width of layer 1], in place.
void RunBatchNorm(const PackedFixed& packed, std::size_t rows, std::int16_t* words) {
  const I32 i32;
  const hn::Rebind<std::int16_t, I32> i16;
  const fpga::FixedBatchNorm& norm = packed.network.batch_norm;
  const Rounding rounding(norm.shift, norm.result_bits, false);
  const std::size_t width = packed.layers[0].low.width();
  for (std::size_t i = 0; i < width; i += hn::Lanes(i32)) {
    const auto scale = hn::LoadU(i32, packed.norm_scale.get() + i);
    const auto offset = hn::LoadU(i32, packed.norm_offset.get() + i);
    for (std::int16_t* word = words + i; word < words + rows * width; word += width) {
      const auto product = hn::Mul(hn::PromoteTo(i32, hn::LoadU(i16, word)), scale);
      rounding.Store(hn::Add(product, offset), word);
    }
  }
}

void FillMissing(const std::vector<char>& finite, std::size_t batch, float* outputs) {
  for (std::size_t i = 0; i < batch; ++i) {
    if (!finite[i]) std::fill_n(outputs + i * kOutputs, kOutputs, std::numeric_limits<float>::quiet_NaN());
  }
}

void InferFixed(PackedFixed& packed, const float* features, std::size_t batch, float* outputs) {
  if (packed.quad_offset != nullptr) {
    std::uint8_t* bytes = packed.bytes.get();
    PrepareBatch(packed.network.input, features, batch, reinterpret_cast<std::int8_t*>(bytes), packed.finite);
    // Quads take unsigned inputs: 128 is added here, and taken off by quad_offset.
    for (std::size_t i = 0; i < batch * kInputs; ++i) bytes[i] ^= 0x80;
  } else {
    PrepareBatch(packed.network.input, features, batch, packed.words.get(), packed.finite);
  }
  const std::int16_t* inputs = packed.words.get();
  std::size_t stride = kInputs;
  for (std::size_t layer = 0; layer < packed.layers.size(); ++layer) {
    std::int16_t* results = packed.results[layer % 2].get();
    RunLayer(packed, layer, inputs, stride, batch, results);
    if (layer == 0) RunBatchNorm(packed, batch, results);
    inputs = results;
    stride = packed.layers[layer].low.width();
  }
  const float unit = std::ldexp(1.0f, -packed.network.output_fraction);
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t k = 0; k < kOutputs; ++k) outputs[i * kOutputs + k] = unit * inputs[i * stride + k];
  }
  FillMissing(packed.finite, batch, outputs);
}

void InferFloat(PackedFloat& packed, const float* features, std::size_t batch, float* outputs) {
  const F32 f32;
  const float* inputs = packed.values[1].get();
  PrepareBatch(packed.input, features, batch, packed.values[1].get(), packed.finite);
  std::size_t stride = kInputs;
  for (std::size_t layer = 0; layer < packed.layers.size(); ++layer) {
    const PackedWeights<float>& weights = packed.layers[layer];
    float* results = packed.values[layer % 2].get();
    Multiply<Floats>(inputs, stride * sizeof(float), batch, weights, 0, weights.groups, results);
    inputs = results;
    stride = weights.width();
    if (layer == 3) break;
    for (std::size_t i = 0; i < batch * stride; i += hn::Lanes(f32)) {
      auto value = hn::Max(hn::LoadU(f32, results + i), hn::Zero(f32));
      if (layer == 0) {
        value = hn::MulAdd(value, hn::LoadU(f32, packed.norm_scale.get() + i % stride),
                           hn::LoadU(f32, packed.norm_offset.get() + i % stride));
      }
      hn::StoreU(value, f32, results + i);
    }
  }
  for (std::size_t i = 0; i < batch; ++i) std::copy_n(inputs + i * stride, kOutputs, outputs + i * kOutputs);
  FillMissing(packed.finite, batch, outputs);
}

}  // namespace tributary::accelerator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::accelerator {

HWY_EXPORT(InferFixed);
HWY_EXPORT(InferFloat);
HWY_EXPORT(PrepareBytes);

void RunFixed(PackedFixed& packed, const float* features, std::size_t batch, float* outputs) {
  HWY_DYNAMIC_DISPATCH(InferFixed)(packed, features, batch, outputs);
}

void RunFloat(PackedFloat& packed, const float* features, std::size_t batch, float* outputs) {
  HWY_DYNAMIC_DISPATCH(InferFloat)(packed, features, batch, outputs);
}

bool PrepareInput(const fpga::PositioningInput& input, const float* features, std::int8_t* words) {
  return HWY_DYNAMIC_DISPATCH(PrepareBytes)(input, features, words);
}

}  // namespace tributary::accelerator
#endif
