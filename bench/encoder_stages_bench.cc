// The convolutions of a quantised encoder in training and their gradients: cycles of the tensor unit for one
// image, as the golden model counts them, and the times of this processor's own forward and backward pass.
//
// usage: encoder_stages_bench: a line of JSON for each size of the unit, then one for the processor.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/convolution_3x3.h"
#include "core/nn/kernel/random_stream.h"
#include "node/accelerator/encoder_gradients.h"
#include "node/accelerator/encoder_stages.h"
#include "node/accelerator/tensor_target.h"

namespace tributary {
namespace {

constexpr std::size_t kBatch = 32;
constexpr int kRepetitions = 101;

nn::EncoderOptions DefaultQuantised() {
  nn::EncoderOptions options;
  options.norm = nn::EncoderNorm::kNone;
  options.activation = nn::EncoderActivation::kHardClip;
  options.quantised = true;
  return options;
}

double MedianMicroseconds(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

struct Bench {
  Bench() {
    nn::RandomStream random(1);
    for (std::uint8_t& pixel : images) pixel = static_cast<std::uint8_t>(random.Below(256));
    for (float& weight : weights) weight = static_cast<float>(0.2 * random.Normal());
    std::size_t inputs = options.input_channels;
    for (std::size_t i = 0; i < options.channels.size(); ++i) {
      const auto range = layout.Range("encoder.conv" + std::to_string(i + 1) + ".weight");
      std::vector<std::int8_t> words(range.size);
      nn::QuantiseKernels(range.Of(std::span<const float>(weights)), inputs, words);
      kernels.insert(kernels.end(), words.begin(), words.end());
      inputs = options.channels[i];
    }
  }

  // Cycles and bits of the golden model; ends the program if it and the processor differ.
  nlohmann::ordered_json OnUnit(std::uint32_t lanes) {
    const accelerator::TensorModelTarget unit({.lanes = lanes});
    const auto stages = accelerator::EncoderStages::Create(options, kBatch, unit).value();
    if (const absl::Status status = stages->Compute(images, kernels); !status.ok()) {
      std::cerr << status << "\n";
      std::exit(1);
    }
    const graph::SectionCycles cycles = stages->planned();
    std::vector<std::uint64_t> layers;
    for (const std::uint64_t layer : cycles.layers) layers.push_back(layer / kBatch);
    return {{"lanes", lanes},
            {"cycles", stages->cycles()},
            {"transfer_cycles", cycles.transfers / kBatch},
            {"counted_cycles", stages->counted_cycles() / kBatch},
            {"layer_cycles", layers},
            {"products", Products(false)},
            {"gradients", GradientsOnUnit(lanes)}};
  }

  // Cycles of the golden model for random gradients: they depend on shapes only.
  nlohmann::ordered_json GradientsOnUnit(std::uint32_t lanes) {
    const accelerator::TensorModelTarget unit({.lanes = lanes, .bfloat16 = true});
    const auto gradients = accelerator::EncoderGradients::Create(options, kBatch, unit).value();
    // By stage; the first one has no gradient of inputs.
    std::vector<std::uint64_t> weight_cycles, input_cycles;
    std::size_t inputs = options.input_channels, side = options.side;
    for (std::size_t stage = 0; stage < options.channels.size(); ++stage) {
      const std::size_t outputs = options.channels[stage];
      // The first stage's outputs come in groups.
      const std::size_t group = stage == 0 ? nn::Convolution3x3::kGroup : outputs;
      const nn::PlaneShape shape{kBatch, side};
      const nn::Planes x(inputs, shape), y_gradient(group, shape);
      nn::Planes x_gradient(inputs, shape);
      std::vector<float> found(group * inputs * 9), stage_weights(outputs * inputs * 9);
      absl::Status status = gradients->AddWeights(stage, x, y_gradient, found);
      if (status.ok() && stage > 0)
        status = gradients->ComputeInputs(stage, stage_weights, y_gradient, x_gradient);
      if (!status.ok()) {
        std::cerr << status << "\n";
        std::exit(1);
      }
      weight_cycles.push_back(gradients->weight_cycles(stage) * (outputs / group) / kBatch);
      if (stage > 0) input_cycles.push_back(gradients->input_cycles(stage) / kBatch);
      inputs = outputs;
      side /= 2;
    }
    return {{"weight_cycles", weight_cycles}, {"input_cycles", input_cycles}, {"products", Products(true)}};
  }

  // An image needs so many. The first stage has no gradient of inputs.
  std::uint64_t Products(bool gradients) const {
    std::uint64_t products = 0, inputs = options.input_channels, side = options.side;
    for (const std::uint64_t outputs : options.channels) {
      const bool both = gradients && side != options.side;
      products += (both ? 2 : 1) * outputs * inputs * 9 * side * side;
      inputs = outputs;
      side /= 2;
    }
    return products;
  }

  nlohmann::ordered_json OnProcessor() {
    nn::Encoder encoder(options, layout, kBatch);
    nn::EncoderPass pass(options, kBatch);
    std::vector<float> features(options.feature_count() * kBatch);
    std::vector<float> gradient(weights.size()), feature_gradient(features.size(), 0.01f);
    const auto median = [](auto pass_once) {
      std::vector<double> times;
      for (int i = 0; i < kRepetitions; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        pass_once();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        times.push_back(took.count() / kBatch);
      }
      return MedianMicroseconds(std::move(times));
    };
    const double forward =
        median([&] { encoder.Forward(nn::EncoderStatistics::kBatch, weights, images, pass, features); });
    const double backward = median([&] { encoder.Backward(weights, pass, feature_gradient, gradient); });
    return {{"processor_us", forward}, {"processor_backward_us", backward}, {"batch", kBatch}};
  }

  const nn::EncoderOptions options = DefaultQuantised();
  const nn::ParameterLayout layout{nn::EncoderTensors(options)};
  std::vector<std::uint8_t> images = std::vector<std::uint8_t>(kBatch * options.image().size());
  std::vector<float> weights = std::vector<float>(layout.size());
  std::vector<std::int8_t> kernels;
};

}  // namespace
}  // namespace tributary

int main() {
  tributary::Bench bench;
  for (const std::uint32_t lanes : {8u, 16u, 32u}) std::cout << bench.OnUnit(lanes) << "\n";
  std::cout << bench.OnProcessor() << "\n";
}
