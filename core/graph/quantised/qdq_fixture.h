// Random quantised graphs in ONNX's QDQ form, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/onnx_fixture.h"
#include "core/graph/quantised/quantised_layer.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::graph::testing {

// What an operator of integers multiplies by.
struct IntegerWeightsText {
  ElementType type = ElementType::kInt8;
  Shape shape;
  std::vector<std::int32_t> values, zeros = {0}, bias = {};
  std::vector<float> scales = {0.01f};
};

class QdqModel {
 public:
  explicit QdqModel(std::uint64_t seed) : random_(seed) {}

  ModelText& model() { return model_; }

  // A graph input of integers, and its float value.
  std::string Input(const std::string& name, const Shape& shape, const Quantisation& quantisation) {
    model_.Input(name, shape, TypeNumber(quantisation.type));
    return Dequantised(name, quantisation);
  }

  std::string Dequantised(const std::string& integers, const Quantisation& quantisation) {
    const std::string name = Next("float");
    model_.Node("DequantizeLinear", {integers, Scale(quantisation), Zero(quantisation)}, name);
    return name;
  }

  std::string Quantised(const std::string& floats, const Quantisation& quantisation) {
    const std::string name = Next("bytes");
    model_.Node("QuantizeLinear", {floats, Scale(quantisation), Zero(quantisation)}, name);
    return name;
  }

  // Both: the float value behind.
  std::string Through(const std::string& floats, const Quantisation& quantisation) {
    return Dequantised(Quantised(floats, quantisation), quantisation);
  }

  // int8 weights, with a scale for each index of `axis` from 0.5 to 2 times `scale`; axis −1: one.
  std::string Weights(const Shape& shape, float scale, std::int64_t axis) {
    const std::string name = Next("weights");
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < Spec{ElementType::kInt8, shape}.elements(); ++i)
      values.push_back(Whole(-127, 127));
    model_.Small(name, shape, values, onnx::TensorProto::INT8);
    std::vector<float> scales;
    const std::int64_t count = axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)];
    for (std::int64_t i = 0; i < count; ++i) {
      scales.push_back(scale * std::exp2(static_cast<float>(Whole(-100, 100)) / 100.0f));
    }
    if (axis < 0) {
      model_.Floats(name + "_scale", {}, scales);
      model_.Node("DequantizeLinear", {name, name + "_scale"}, name + "_float");
    } else {
      model_.Floats(name + "_scale", {count}, scales);
      model_.Node("DequantizeLinear", {name, name + "_scale"}, name + "_float", {{"axis", axis}});
    }
    scales_ = scales;
    return name + "_float";
  }

  // An int32 bias whose scale is that of the last weights times the input's.
  std::string Bias(std::int64_t channels, float input_scale, std::int32_t reach) {
    const std::string name = Next("bias");
    std::vector<std::int32_t> values;
    std::vector<float> scales;
    for (std::int64_t c = 0; c < channels; ++c) {
      values.push_back(Whole(-reach, reach));
      scales.push_back(input_scale * scales_[scales_.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    }
    model_.Small(name, {channels}, values, onnx::TensorProto::INT32);
    model_.Floats(name + "_scale", {channels}, scales);
    model_.Node("DequantizeLinear", {name, name + "_scale"}, name + "_float", {{"axis", 0}});
    return name + "_float";
  }

  // QLinearConv or QLinearMatMul: `weights` as int8 or uint8 with these zero points, of each channel out or
  // one.
  std::string IntegerProduct(const std::string& operation, const std::string& x, const Quantisation& from,
                             const IntegerWeightsText& weights, const Quantisation& to,
                             const std::vector<std::pair<std::string, std::int64_t>>& attributes = {}) {
    const std::string stem = Next("weights"), name = Next(operation);
    const int type = TypeNumber(weights.type);
    const auto count = [](const auto& values) -> Shape { return {static_cast<std::int64_t>(values.size())}; };
    model_.Small(stem, weights.shape, weights.values, type)
        .Floats(stem + "_scale", count(weights.scales), weights.scales);
    model_.Small(stem + "_zero", count(weights.zeros), weights.zeros, type);
    std::vector<std::string> inputs = {
        x, Scale(from), Zero(from), stem, stem + "_scale", stem + "_zero", Scale(to), Zero(to)};
    if (!weights.bias.empty()) {
      model_.Small(stem + "_bias", count(weights.bias), weights.bias, onnx::TensorProto::INT32);
      inputs.push_back(stem + "_bias");
    }
    model_.Node(operation, inputs, name, attributes);
    return name;
  }

  std::string Node(const std::string& operation, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, std::int64_t>>& attributes = {}) {
    const std::string name = Next(operation);
    model_.Node(operation, inputs, name, attributes);
    return name;
  }

  std::int32_t Whole(std::int32_t least, std::int32_t most) {
    return least + static_cast<std::int32_t>(random_.Below(static_cast<std::uint64_t>(most - least + 1)));
  }

  Array Bytes(const Spec& spec) {
    Array array(spec);
    for (std::byte& byte : array.bytes) byte = static_cast<std::byte>(random_.Bits() & 0xff);
    return array;
  }

  static int TypeNumber(ElementType type) {
    return type == ElementType::kInt8 ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
  }

 private:
  std::string Next(const std::string& stem) { return stem + "_" + std::to_string(count_++); }
  std::string Scale(const Quantisation& quantisation) {
    const std::string name = Next("scale");
    model_.Floats(name, {}, {quantisation.scale});
    return name;
  }
  std::string Zero(const Quantisation& quantisation) {
    const std::string name = Next("zero");
    model_.Small(name, {}, {quantisation.zero_point}, TypeNumber(quantisation.type));
    return name;
  }

  ModelText model_;
  nn::RandomStream random_;
  std::vector<float> scales_;
  int count_ = 0;
};

}  // namespace tributary::graph::testing
