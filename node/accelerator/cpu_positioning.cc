// Packs the positioning network for the processor's vector units, and owns the buffers.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "core/status/macros.h"
#include "fmt/format.h"
#include "fpga/model/positioning_model.h"
#include "hwy/targets.h"
#include "node/accelerator/create.h"
#include "node/accelerator/positioning_kernels.h"

namespace tributary::accelerator {
namespace {

using Network = nn::PositioningNetwork;

constexpr std::size_t kInputs = fpga::FixedPositioning::kInputs;
constexpr std::size_t kOutputs = fpga::FixedPositioning::kOutputs;

constexpr std::size_t kWidest = BlocksOf(Network::kWidths[1]) * kBlockOutputs;

PackedFixed::Layer PackLayer(const fpga::FixedDense& dense, int bits) {
  const auto pack = [&](auto part) { return PackWords(dense.weights, dense.inputs, bits, part); };
  if (dense.weight_bits == 8) return {pack([](std::int32_t w) { return w; }), {}};
  return {pack([](std::int32_t w) { return w & 255; }), pack([](std::int32_t w) { return w >> 8; })};
}

// -128 · Σ weights of each output.
Aligned<std::int32_t> QuadOffset(const fpga::FixedDense& dense) {
  auto offset = Zeros<std::int32_t>(kWidest);
  for (std::size_t i = 0; i < dense.weights.size(); ++i) offset[i / dense.inputs] -= 128 * dense.weights[i];
  return offset;
}

PackedFixed PackFixed(fpga::FixedPositioning network, std::size_t max_batch) {
  PackedFixed packed;
  const bool quads = network.input_bits == 8 && TakesQuads();
  if (quads) packed.quad_offset = QuadOffset(network.dense[0]);
  for (std::size_t i = 0; i < packed.layers.size(); ++i) {
    packed.layers[i] = PackLayer(network.dense[i], quads && i == 0 ? 8 : 16);
  }
  packed.norm_scale = Padded<std::int32_t>(network.batch_norm.scale, kWidest);
  packed.norm_offset = Padded<std::int32_t>(network.batch_norm.offset, kWidest);
  packed.bytes = Zeros<std::uint8_t>(max_batch * kInputs);
  packed.words = Zeros<std::int16_t>(max_batch * kInputs);
  for (auto& results : packed.results) results = Zeros<std::int16_t>(max_batch * kWidest);
  for (auto* sums : {&packed.sums, &packed.high, &packed.low, &packed.remainders}) {
    *sums = Zeros<std::int32_t>(max_batch * kWidest);
  }
  packed.finite.resize(max_batch);
  packed.network = std::move(network);
  return packed;
}

PackedFloat PackFloat(const Network& network, std::size_t max_batch) {
  PackedFloat packed;
  packed.input = {
      .alignment = network.alignment, .mean = network.input_mean, .gain = network.input_inverse_deviation};
  for (std::size_t i = 0; i < packed.layers.size(); ++i) {
    packed.layers[i] = Pack<float>(network.weights[i], Network::kWidths[i], 1,
                                   [](float& word, float weight, std::size_t) { word = weight; });
  }
  packed.norm_scale = Padded<float>(network.batch_norm_scale, kWidest);
  packed.norm_offset = Padded<float>(network.batch_norm_shift, kWidest);
  for (auto& values : packed.values) values = Zeros<float>(max_batch * kInputs);
  packed.finite.resize(max_batch);
  return packed;
}

class CpuPositioning final : public Accelerator {
 public:
  using RunBatch = absl::AnyInvocable<void(const float* features, std::size_t batch, float* outputs)>;

  CpuPositioning(fpga::NumberFormat format, std::size_t max_batch, RunBatch run)
      : Accelerator({.inputs = kInputs, .outputs = kOutputs, .max_batch = max_batch}),
        format_(format),
        run_(std::move(run)) {}

  std::string description() const override {
    const std::int64_t targets = hwy::SupportedTargets();
    return fmt::format("cpu ({}, {})", fpga::NumberFormatName(format_),
                       hwy::TargetName(targets & -targets));  // the lowest bit is the best
  }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    run_(features.data(), batch, outputs.data());
    return absl::OkStatus();
  }

  const fpga::NumberFormat format_;
  RunBatch run_;
};

}  // namespace

Created CreateCpuPositioning(const nn::PositioningNetwork& network, fpga::NumberFormat format,
                             std::size_t max_batch) {
  if (format == fpga::NumberFormat::kFloat) {
    return std::make_unique<CpuPositioning>(
        format, max_batch,
        [packed = PackFloat(network, max_batch)](const float* features, std::size_t batch,
                                                 float* outputs) mutable {
          RunFloat(packed, features, batch, outputs);
        });
  }
  ASSIGN_OR_RETURN(fpga::FixedPositioning fixed, fpga::MakeFixedPositioning(network, format));
  if (format == fpga::NumberFormat::kInt32) {
    return std::make_unique<CpuPositioning>(
        format, max_batch,
        [fixed = std::move(fixed)](const float* features, std::size_t batch, float* outputs) {
          for (std::size_t i = 0; i < batch; ++i) {
            fpga::InferPositioning(fixed, {features + i * kInputs, kInputs},
                                   {outputs + i * kOutputs, kOutputs});
          }
        });
  }
  return std::make_unique<CpuPositioning>(
      format, max_batch,
      [packed = PackFixed(std::move(fixed), max_batch)](const float* features, std::size_t batch,
                                                        float* outputs) mutable {
        RunFixed(packed, features, batch, outputs);
      });
}

}  // namespace tributary::accelerator
