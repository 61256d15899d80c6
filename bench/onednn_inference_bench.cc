// Inference of a network by oneDNN's int8 primitives, in the memory layouts that oneDNN prefers. One thread
// if OMP_NUM_THREADS is 1.
//
// usage: onednn_inference_bench LAYERS --serve, for each line "n" on standard input the microseconds per
// image over n images. A layer is a line of LAYERS, which graph_inference.py writes; ADDED is "-" or a value
// with the shape of RESULT:
//   conv SOURCE RESULT INPUTS OUTPUTS SIDE KERNEL STRIDE GROUPS (u8|s8) ADDED
//   pool SOURCE RESULT CHANNELS SIDE
//   product SOURCE RESULT INPUTS OUTPUTS
// Weights are random: the time does not depend on them. ReLU and Clip are what a byte without sign cannot
// hold.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace tributary {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Format = memory::format_tag;
using Dims = memory::dims;

constexpr int kColours = 3;
constexpr int kSide = 32;

class OneDnnNetwork {
 public:
  explicit OneDnnNetwork(std::istream& layers)
      : image_({{1, kColours, kSide, kSide}, Type::f32, Format::nchw}, engine_) {
    Fill(image_);
    values_["image"] = As({{1, kColours, kSide, kSide}, Type::u8, Format::nhwc}, image_);
    for (std::string line; std::getline(layers, line);) {
      std::istringstream words(line);
      std::string layer;
      words >> layer;
      if (layer == "conv") AppendConvolution(words);
      if (layer == "pool") AppendPool(words);
      if (layer == "product") AppendProduct(words);
    }
  }

  double Microseconds(int images) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < images; ++i) {
      for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
      stream_.wait();
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    return took.count() / images;
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  void Fill(memory& values) {
    auto* bytes = static_cast<std::int8_t*>(values.get_data_handle());
    if (values.get_desc().data_type() == Type::s8) {
      std::generate_n(bytes, values.get_desc().get_size(),
                      [this] { return static_cast<std::int8_t>(static_cast<int>(random_() % 255) - 127); });
    } else {
      std::generate_n(reinterpret_cast<float*>(bytes), values.get_desc().get_size() / sizeof(float),
                      [this] { return static_cast<float>(random_() % 256); });
    }
  }

  // A step that brings `from` into another layout or type, if it has not that one.
  memory As(const memory::desc& to, memory from) {
    if (from.get_desc() == to) return from;
    memory result(to, engine_);
    steps_.push_back({dnnl::reorder(from, result), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, result}}});
    return result;
  }

  // Constant, brought into its layout now.
  memory Weights(const Dims& dims, Format plain, const memory::desc& to) {
    memory drawn({dims, Type::s8, plain}, engine_), result(to, engine_);
    Fill(drawn);
    dnnl::reorder(drawn, result).execute(stream_, drawn, result);
    stream_.wait();
    return result;
  }

  memory Bias(memory::dim outputs) {
    memory result({{outputs}, Type::f32, Format::a}, engine_);
    Fill(result);
    return result;
  }

  static dnnl::primitive_attr Requantised(memory::dim outputs, memory::dim products) {
    dnnl::primitive_attr attributes;
    constexpr int kPerChannel = 1 << 1;
    attributes.set_output_scales(kPerChannel, std::vector<float>(static_cast<std::size_t>(outputs),
                                                                 1.0f / 64 / static_cast<float>(products)));
    return attributes;
  }

  void AppendConvolution(std::istream& words) {
    std::string source, result, type, added;
    memory::dim inputs = 0, outputs = 0, side = 0, kernel = 0, stride = 0, groups = 0;
    words >> source >> result >> inputs >> outputs >> side >> kernel >> stride >> groups >> type >> added;
    const memory::dim padding = kernel / 2, result_side = (side + 2 * padding - kernel) / stride + 1;
    const Dims weights_dims = groups == 1 ? Dims{outputs, inputs, kernel, kernel}
                                          : Dims{groups, outputs / groups, inputs / groups, kernel, kernel};
    const memory from = values_.at(source);
    const Type result_type = type == "u8" ? Type::u8 : Type::s8;
    memory::desc result_desc({1, outputs, result_side, result_side}, result_type, Format::any);
    dnnl::primitive_attr attributes = Requantised(outputs, inputs / groups * kernel * kernel);
    if (added != "-") {
      // The sum is formed in the place of what is added, which nobody reads afterwards.
      result_desc = values_.at(added).get_desc();
      dnnl::post_ops then;
      then.append_sum(1.0f, result_desc.data_type());
      attributes.set_post_ops(then);
      result_desc.data.data_type = memory::convert_to_c(result_type);
    }
    const dnnl::convolution_forward::desc asked(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        {{1, inputs, side, side}, from.get_desc().data_type(), Format::any},
        {weights_dims, Type::s8, Format::any}, {{outputs}, Type::f32, Format::a}, result_desc,
        {stride, stride}, {padding, padding}, {padding, padding});
    const dnnl::convolution_forward::primitive_desc chosen(asked, attributes, engine_);
    const memory in = As(chosen.src_desc(), from);
    memory out = added == "-" ? memory(chosen.dst_desc(), engine_)
                              : memory(chosen.dst_desc(), engine_, values_.at(added).get_data_handle());
    steps_.push_back({dnnl::convolution_forward(chosen),
                      {{DNNL_ARG_SRC, in},
                       {DNNL_ARG_WEIGHTS, Weights(weights_dims, groups == 1 ? Format::oihw : Format::goihw,
                                                  chosen.weights_desc())},
                       {DNNL_ARG_BIAS, Bias(outputs)},
                       {DNNL_ARG_DST, out}}});
    // What is added keeps its memory alive: it stays in values_.
    values_[result] = out;
  }

  void AppendPool(std::istream& words) {
    std::string source, result;
    memory::dim channels = 0, side = 0;
    words >> source >> result >> channels >> side;
    const memory in = values_.at(source);
    const dnnl::pooling_forward::desc asked(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_avg_exclude_padding, in.get_desc(),
        {{1, channels, 1, 1}, in.get_desc().data_type(), Format::any}, {1, 1}, {side, side}, {0, 0}, {0, 0});
    const dnnl::pooling_forward::primitive_desc chosen(asked, engine_);
    values_[result] = memory(chosen.dst_desc(), engine_);
    steps_.push_back({dnnl::pooling_forward(chosen), {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, values_[result]}}});
  }

  void AppendProduct(std::istream& words) {
    std::string source, result;
    memory::dim inputs = 0, outputs = 0;
    words >> source >> result >> inputs >> outputs;
    const Dims weights_dims{outputs, inputs, 1, 1};
    const memory from = values_.at(source);
    const dnnl::inner_product_forward::desc asked(
        dnnl::prop_kind::forward_inference, {{1, inputs, 1, 1}, from.get_desc().data_type(), Format::any},
        {weights_dims, Type::s8, Format::any}, {{outputs}, Type::f32, Format::a},
        {{1, outputs}, Type::f32, Format::nc});
    const dnnl::inner_product_forward::primitive_desc chosen(asked, Requantised(outputs, inputs), engine_);
    values_[result] = memory(chosen.dst_desc(), engine_);
    steps_.push_back({dnnl::inner_product_forward(chosen),
                      {{DNNL_ARG_SRC, As(chosen.src_desc(), from)},
                       {DNNL_ARG_WEIGHTS, Weights(weights_dims, Format::oihw, chosen.weights_desc())},
                       {DNNL_ARG_BIAS, Bias(outputs)},
                       {DNNL_ARG_DST, values_[result]}}});
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::mt19937 random_{1};
  memory image_;
  std::map<std::string, memory> values_;
  std::vector<Step> steps_;
};

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  std::ifstream layers(argc == 3 && std::strcmp(argv[2], "--serve") == 0 ? argv[1] : "");
  if (!layers) {
    std::fputs("usage: onednn_inference_bench LAYERS --serve\n", stderr);
    return 64;
  }
  tributary::OneDnnNetwork network(layers);
  for (int images; std::cin >> images;) std::cout << network.Microseconds(std::max(images, 1)) << std::endl;
  return 0;
}
