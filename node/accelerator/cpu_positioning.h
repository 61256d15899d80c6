// The positioning network on the processor's vector units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "fpga/model/positioning_model.h"
#include "hwy/aligned_allocator.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/packed_layer.h"

namespace tributary::accelerator {

// Same outputs as PositioningModel: bit for bit in the fixed-point formats, up to rounding in float. Create
// chooses the instruction set. Owns all its buffers: Infer allocates nothing, except for kInt32, which runs
// the model's own scalar layers and serves evaluation only.
class CpuPositioning final : public Accelerator {
 public:
  // Errors: InvalidArgument for a network that does not fit or max_batch 0.
  static absl::StatusOr<std::unique_ptr<CpuPositioning>> Create(const nn::PositioningNetwork& network,
                                                                fpga::NumberFormat format,
                                                                std::size_t max_batch);

  Shape shape() const override;
  std::string description() const override;
  absl::Status Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) override;

 private:
  // One dense layer, packed for the kernel that runs it. Exactly one of quads, pairs, high and low is filled.
  struct Layer {
    PackedWeights<std::uint8_t> quads;          // 8-bit inputs and weights, VNNI
    PackedWeights<std::int16_t> pairs;          // 8-bit weights
    PackedWeights<std::int16_t> high, low;      // 16-bit weights
    hwy::AlignedFreeUniquePtr<float[]> floats;  // [blocks × inputs × 16]
    std::size_t width = 0;                      // outputs, padded to whole blocks
  };

  CpuPositioning(fpga::PositioningModel model, std::size_t max_batch);
  void PackFixed();
  void PackFloat();
  void InferFixed(std::span<const float> features, std::size_t batch, std::span<float> outputs);
  void InferFloat(std::span<const float> features, std::size_t batch, std::span<float> outputs);
  void InferInt32(std::span<const float> features, std::size_t batch, std::span<float> outputs);
  // Input words [rows × stride] to result words [rows × width].
  void RunLayer(std::size_t index, const std::int16_t* input, std::size_t stride, std::size_t rows,
                std::int16_t* results);
  void MultiplySplit(const Layer& layer, const std::int16_t* input, std::size_t stride, std::size_t rows);
  void MultiplyWords(const std::int16_t* input, std::size_t stride, std::size_t rows,
                     const PackedWeights<std::int16_t>& weights, std::size_t first_group, std::size_t groups,
                     std::int32_t* sums) const;

  fpga::PositioningModel model_;
  std::size_t max_batch_;
  bool vnni_;
  std::array<Layer, 4> layers_;

  hwy::AlignedFreeUniquePtr<std::int32_t[]> norm_scale_, norm_offset_;  // [width of layer 1]
  hwy::AlignedFreeUniquePtr<float[]> float_scale_, float_offset_;

  hwy::AlignedFreeUniquePtr<std::int8_t[]> bytes_;        // [max_batch × 1024]
  hwy::AlignedFreeUniquePtr<std::int16_t[]> words_;       // [max_batch × 1024]
  hwy::AlignedFreeUniquePtr<std::int16_t[]> results_[2];  // [max_batch × 208], taking turns
  hwy::AlignedFreeUniquePtr<std::int32_t[]> sums_, high_, low_, remainders_;  // [max_batch × 208]
  hwy::AlignedFreeUniquePtr<float[]> values_[2];  // [max_batch × 1024], taking turns
  std::vector<char> finite_;                      // [max_batch]
};

}  // namespace tributary::accelerator
