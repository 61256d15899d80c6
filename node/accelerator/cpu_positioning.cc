#include "node/accelerator/cpu_positioning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hwy/targets.h"
#include "node/accelerator/positioning_kernels.h"
#include "node/accelerator/vnni_product.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kInputs = fpga::PositioningModel::kInputs;
constexpr std::size_t kOutputs = fpga::PositioningModel::kOutputs;
constexpr std::size_t kWidest = BlocksOf(nn::PositioningNetwork::kWidths[1]) * kBlockOutputs;

// 16-bit inputs times the unsigned low half of 16-bit weights: 256 · 2^15 · 255 < 2^31.
constexpr std::size_t kSplitGroups = 256 / 2;

template <typename T>
hwy::AlignedFreeUniquePtr<T[]> Zeros(std::size_t count) {
  auto values = hwy::AllocateAligned<T>(count);
  std::fill_n(values.get(), count, T{});
  return values;
}

template <typename To, typename From>
hwy::AlignedFreeUniquePtr<To[]> Padded(const std::vector<From>& values, std::size_t width) {
  auto padded = Zeros<To>(width);
  std::transform(values.begin(), values.end(), padded.get(), [](From v) { return static_cast<To>(v); });
  return padded;
}

void FillNaN(std::span<float> outputs) {
  std::fill(outputs.begin(), outputs.end(), std::numeric_limits<float>::quiet_NaN());
}

const char* TargetName() {
  const std::int64_t targets = hwy::SupportedTargets();
  return hwy::TargetName(targets & -targets);  // the lowest bit is the best
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuPositioning>> CpuPositioning::Create(const nn::PositioningNetwork& network,
                                                                       fpga::NumberFormat format,
                                                                       std::size_t max_batch) {
  if (max_batch == 0) return absl::InvalidArgumentError("max_batch is 0");
  absl::StatusOr<fpga::PositioningModel> model = fpga::PositioningModel::Create(network, format);
  if (!model.ok()) return model.status();
  return std::unique_ptr<CpuPositioning>(new CpuPositioning(*std::move(model), max_batch));
}

CpuPositioning::CpuPositioning(fpga::PositioningModel model, std::size_t max_batch)
    : model_(std::move(model)), max_batch_(max_batch), vnni_(VnniAvailable()), finite_(max_batch) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].width = BlocksOf(nn::PositioningNetwork::kWidths[i + 1]) * kBlockOutputs;
  }
  if (model_.format() == fpga::NumberFormat::kFloat) {
    PackFloat();
  } else if (model_.format() != fpga::NumberFormat::kInt32) {
    PackFixed();
  }
}

void CpuPositioning::PackFixed() {
  const fpga::FixedPositioning& fixed = model_.fixed();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const fpga::FixedDense& dense = fixed.dense[i];
    if (i == 0 && fixed.input_bits == 8 && vnni_) {
      layers_[i].quads = PackQuads(dense);
    } else if (dense.weight_bits == 8) {
      layers_[i].pairs = PackPairs(dense);
    } else {
      layers_[i].high = PackHighPairs(dense);
      layers_[i].low = PackLowPairs(dense);
    }
  }
  norm_scale_ = Padded<std::int32_t>(fixed.batch_norm.scale, kWidest);
  norm_offset_ = Padded<std::int32_t>(fixed.batch_norm.offset, kWidest);
  bytes_ = Zeros<std::int8_t>(max_batch_ * kInputs);
  words_ = Zeros<std::int16_t>(max_batch_ * kInputs);
  for (auto& results : results_) results = Zeros<std::int16_t>(max_batch_ * kWidest);
  for (auto* sums : {&sums_, &high_, &low_, &remainders_}) *sums = Zeros<std::int32_t>(max_batch_ * kWidest);
}

void CpuPositioning::PackFloat() {
  const nn::PositioningNetwork& network = model_.network();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::size_t inputs = nn::PositioningNetwork::kWidths[i];
    layers_[i].floats = Zeros<float>(layers_[i].width * inputs);
    for (std::size_t output = 0; output < nn::PositioningNetwork::kWidths[i + 1]; ++output) {
      float* block = layers_[i].floats.get() + output / kBlockOutputs * inputs * kBlockOutputs;
      for (std::size_t input = 0; input < inputs; ++input) {
        block[input * kBlockOutputs + output % kBlockOutputs] = network.weights[i][output * inputs + input];
      }
    }
  }
  float_scale_ = Padded<float>(network.batch_norm_scale, kWidest);
  float_offset_ = Padded<float>(network.batch_norm_shift, kWidest);
  for (auto& values : values_) values = Zeros<float>(max_batch_ * kInputs);
}

Accelerator::Shape CpuPositioning::shape() const {
  return {.inputs = kInputs, .outputs = kOutputs, .max_batch = max_batch_};
}

std::string CpuPositioning::description() const {
  return absl::StrCat("cpu (", std::string(fpga::NumberFormatName(model_.format())), ", ", TargetName(), ")");
}

absl::Status CpuPositioning::Infer(std::span<const float> features, std::size_t batch,
                                   std::span<float> outputs) {
  if (batch > max_batch_ || features.size() != batch * kInputs || outputs.size() != batch * kOutputs) {
    return absl::InvalidArgumentError(absl::StrCat("positioning on the cpu: batch ", batch, " of at most ",
                                                   max_batch_, " with ", features.size(), " features and ",
                                                   outputs.size(), " outputs; 1024 and 5 each are expected"));
  }
  if (model_.format() == fpga::NumberFormat::kFloat) {
    InferFloat(features, batch, outputs);
  } else if (model_.format() == fpga::NumberFormat::kInt32) {
    InferInt32(features, batch, outputs);
  } else {
    InferFixed(features, batch, outputs);
  }
  for (std::size_t i = 0; i < batch; ++i) {
    if (!finite_[i]) FillNaN(outputs.subspan(i * kOutputs, kOutputs));
  }
  return absl::OkStatus();
}

void CpuPositioning::InferFixed(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  const fpga::FixedPositioning& fixed = model_.fixed();
  const fpga::FixedBatchNorm& norm = fixed.batch_norm;
  std::int16_t* results = results_[0].get();
  if (layers_[0].quads.words != nullptr) {
    for (std::size_t i = 0; i < batch; ++i) {
      finite_[i] = PrepareInput(model_.input(), features.data() + i * kInputs, bytes_.get() + i * kInputs);
    }
    const fpga::FixedDense& dense = fixed.dense[0];
    VnniMultiplyQuads(bytes_.get(), kInputs, batch, layers_[0].quads, sums_.get());
    Requantise(sums_.get(), batch * kWidest, dense.shift, dense.result_bits, dense.rectified, results);
  } else {
    for (std::size_t i = 0; i < batch; ++i) {
      finite_[i] = PrepareInput(model_.input(), features.data() + i * kInputs, words_.get() + i * kInputs);
    }
    RunLayer(0, words_.get(), kInputs, batch, results);
  }
  ScaleAndOffset(norm_scale_.get(), norm_offset_.get(), batch, kWidest, norm.shift, norm.result_bits,
                 results);
  for (std::size_t layer = 1; layer < layers_.size(); ++layer) {
    std::int16_t* next = results_[layer % 2].get();
    RunLayer(layer, results, layers_[layer - 1].width, batch, next);
    results = next;
  }
  const float unit = std::ldexp(1.0f, -fixed.output_fraction);
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t k = 0; k < kOutputs; ++k)
      outputs[i * kOutputs + k] = unit * results[i * layers_[3].width + k];
  }
}

void CpuPositioning::RunLayer(std::size_t index, const std::int16_t* input, std::size_t stride,
                              std::size_t rows, std::int16_t* results) {
  const Layer& layer = layers_[index];
  const fpga::FixedDense& dense = model_.fixed().dense[index];
  int shift = dense.shift;
  if (layer.pairs.words != nullptr) {
    MultiplyWords(input, stride, rows, layer.pairs, 0, layer.pairs.groups, sums_.get());
  } else {
    MultiplySplit(layer, input, stride, rows);
    shift -= 8;
  }
  Requantise(sums_.get(), rows * layer.width, shift, dense.result_bits, dense.rectified, results);
}

// Leaves floor(sums / 256) in sums_. The bits below do not affect the rounding, since at least 9 are dropped.
void CpuPositioning::MultiplySplit(const Layer& layer, const std::int16_t* input, std::size_t stride,
                                   std::size_t rows) {
  const std::size_t count = rows * layer.width;
  std::fill_n(sums_.get(), count, 0);
  std::fill_n(remainders_.get(), count, 0);
  for (std::size_t first = 0; first < layer.low.groups; first += kSplitGroups) {
    const std::size_t groups = std::min(kSplitGroups, layer.low.groups - first);
    MultiplyWords(input + 2 * first, stride, rows, layer.high, first, groups, high_.get());
    MultiplyWords(input + 2 * first, stride, rows, layer.low, first, groups, low_.get());
    AddSplitSums(high_.get(), low_.get(), count, sums_.get(), remainders_.get());
  }
}

void CpuPositioning::MultiplyWords(const std::int16_t* input, std::size_t stride, std::size_t rows,
                                   const PackedWeights<std::int16_t>& weights, std::size_t first_group,
                                   std::size_t groups, std::int32_t* sums) const {
  if (vnni_) return VnniMultiplyPairs(input, stride, rows, weights, first_group, groups, sums);
  MultiplyPairs(input, stride, rows, weights, first_group, groups, sums);
}

void CpuPositioning::InferFloat(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  for (std::size_t i = 0; i < batch; ++i) {
    finite_[i] = PrepareInput(model_.input(), features.data() + i * kInputs, values_[0].get() + i * kInputs);
  }
  std::size_t stride = kInputs;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    MultiplyFloat(values_[i % 2].get(), stride, batch, layers_[i].floats.get(),
                  nn::PositioningNetwork::kWidths[i], layers_[i].width / kBlockOutputs, i < 3,
                  i == 0 ? float_scale_.get() : nullptr, float_offset_.get(), values_[(i + 1) % 2].get());
    stride = layers_[i].width;
  }
  for (std::size_t i = 0; i < batch; ++i)
    std::copy_n(values_[0].get() + i * stride, kOutputs, &outputs[i * kOutputs]);
}

void CpuPositioning::InferInt32(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  std::array<std::int32_t, kInputs> words;
  std::array<std::int32_t, kOutputs> results;
  for (std::size_t i = 0; i < batch; ++i) {
    finite_[i] = PrepareInput(model_.input(), features.data() + i * kInputs, words.data());
    if (!finite_[i]) continue;
    model_.RunFixed(words, results);
    for (std::size_t k = 0; k < kOutputs; ++k) {
      outputs[i * kOutputs + k] = std::ldexp(static_cast<float>(results[k]), -model_.fixed().output_fraction);
    }
  }
}

}  // namespace tributary::accelerator
