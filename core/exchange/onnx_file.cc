#include "core/exchange/onnx_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "core/nn/encoder/encoder.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/runtime/version.h"
#include "core/status/macros.h"

namespace tributary::exchange {
namespace {

using nlohmann::ordered_json;

// What onnx 1.8 introduced together; Debian 12 reads up to 1.12.
constexpr std::int64_t kIrVersion = 7;
constexpr std::int64_t kOperatorSet = 13;
// The largest models have some thousands; a file of 1 MB has room for 300,000 empty ones.
constexpr int kMaxValues = 100'000;

using Integers = std::vector<std::int64_t>;

onnx::AttributeProto Attribute(const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

onnx::AttributeProto IntegersAttribute(const char* name, const Integers& values) {
  onnx::AttributeProto attribute = Attribute(name, onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Add(values.begin(), values.end());
  return attribute;
}

// Appends nodes; each result is named after the node that gives it.
class Graph {
 public:
  explicit Graph(onnx::GraphProto& graph) : graph_(graph) {}

  std::string Constant(const std::string& name, const std::vector<std::uint64_t>& shape,
                       std::span<const float> values) {
    return Initialise(name, onnx::TensorProto::FLOAT, shape, values);
  }
  std::string Constant(const std::string& name, const std::vector<std::uint64_t>& shape,
                       std::span<const std::int8_t> values) {
    return Initialise(name, onnx::TensorProto::INT8, shape, values);
  }
  std::string Scalar(const std::string& name, float value) {
    return Constant(name, {}, std::span<const float>(&value, 1));
  }
  std::string Zero(const std::string& name, onnx::TensorProto::DataType byte) {
    const char zero = 0;
    return Initialise<char>(name, byte, {}, {&zero, 1});
  }
  std::string Shape(const std::string& name, const Integers& values) {
    return Initialise<std::int64_t>(name, onnx::TensorProto::INT64, {values.size()}, values);
  }

  std::string Add(const char* operation, const std::string& name, std::initializer_list<std::string> inputs,
                  std::initializer_list<onnx::AttributeProto> attributes = {}) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(operation);
    node.set_name(name);
    node.mutable_input()->Add(inputs.begin(), inputs.end());
    node.add_output(name);
    node.mutable_attribute()->Add(attributes.begin(), attributes.end());
    return name;
  }

 private:
  template <class Element>
  std::string Initialise(const std::string& name, onnx::TensorProto::DataType type,
                         const std::vector<std::uint64_t>& shape, std::span<const Element> values) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    tensor.mutable_dims()->Add(shape.begin(), shape.end());
    // Little-endian, as every target of this project is.
    tensor.set_raw_data(values.data(), values.size_bytes());
    return name;
  }

  onnx::GraphProto& graph_;
};

class Exporter {
 public:
  Exporter(const nn::EncoderOptions& options, const nn::ParameterLayout& layout,
           std::span<const float> parameters, onnx::GraphProto& graph)
      : options_(options), layout_(layout), parameters_(parameters), graph_(graph) {}

  // Returns the name of the result: features, or logits if there are classes.
  std::string Export(std::size_t classes) {
    graph_.Scalar("pixel_unit", nn::kPixelUnit);
    std::string x = Pixels();
    std::size_t side = options_.side;
    for (std::size_t stage = 1; stage <= options_.channels.size(); ++stage, side /= 2) {
      x = Convolve(stage, x);
      x = Norm(stage, x);
      x = Activate(stage, x);
      x = graph_.Add("MaxPool", fmt::format("pool{}", stage), {x},
                     {IntegersAttribute("kernel_shape", {2, 2}), IntegersAttribute("strides", {2, 2})});
    }
    x = AreaMeans(x, side);
    return classes == 0 ? x : Head(x, classes);
  }

 private:
  std::string Head(const std::string& features, std::size_t classes) {
    onnx::AttributeProto rows = Attribute("transB", onnx::AttributeProto::INT);
    rows.set_i(1);
    return graph_.Add("Gemm", "logits",
                      {features, Tensor("head.weight", {classes, options_.feature_count()}),
                       Tensor("head.bias", {classes})},
                      {rows});
  }

  std::string Tensor(const std::string& name, const std::vector<std::uint64_t>& shape) {
    return graph_.Constant(name, shape, layout_.Range(name).Of(parameters_));
  }

  // The images as they are learned from. A quantised encoder is in QDQ form: its bytes stay bytes.
  std::string Pixels() {
    if (options_.quantised) {
      graph_.Scalar("kernel_unit", nn::kKernelUnit);
      graph_.Zero("pixel_zero", onnx::TensorProto::UINT8);
      graph_.Zero("kernel_zero", onnx::TensorProto::INT8);
      return graph_.Add("DequantizeLinear", "scaled", {"images", "pixel_unit", "pixel_zero"});
    }
    onnx::AttributeProto to = Attribute("to", onnx::AttributeProto::INT);
    to.set_i(onnx::TensorProto::FLOAT);
    return graph_.Add("Mul", "scaled", {graph_.Add("Cast", "pixels", {"images"}, {to}), "pixel_unit"});
  }

  std::string Weights(const std::string& name, const std::vector<std::uint64_t>& shape) {
    const std::span<const float> trained = layout_.Range(name).Of(parameters_);
    if (!options_.quantised) return graph_.Constant(name, shape, trained);
    std::vector<std::int8_t> words(trained.size());
    nn::QuantiseKernels(trained, shape[1], words);
    graph_.Constant(name, shape, std::span<const std::int8_t>(words));
    return graph_.Add("DequantizeLinear", name + "_reals", {name, "kernel_unit", "kernel_zero"});
  }

  std::string Convolve(std::size_t stage, const std::string& x) {
    const std::string name = fmt::format("encoder.conv{}.weight", stage);
    const std::uint64_t inputs = stage == 1 ? options_.input_channels : options_.channels[stage - 2];
    const std::vector<std::uint64_t> shape = {options_.channels[stage - 1], inputs, 3, 3};
    return graph_.Add("Conv", fmt::format("conv{}", stage), {x, Weights(name, shape)},
                      {IntegersAttribute("kernel_shape", {3, 3}), IntegersAttribute("pads", {1, 1, 1, 1})});
  }

  std::string Norm(std::size_t stage, const std::string& x) {
    if (options_.norm == nn::EncoderNorm::kNone) return x;
    const std::string tensor = fmt::format("encoder.norm{}.", stage), name = fmt::format("norm{}", stage);
    const std::uint64_t channels = options_.channels[stage - 1];
    if (options_.norm == nn::EncoderNorm::kBatch) {
      onnx::AttributeProto epsilon = Attribute("epsilon", onnx::AttributeProto::FLOAT);
      epsilon.set_f(nn::kEncoderNormEpsilon);
      return graph_.Add(
          "BatchNormalization", name,
          {x, Tensor(tensor + "weight", {channels}), Tensor(tensor + "bias", {channels}),
           Tensor(tensor + "running_mean", {channels}), Tensor(tensor + "running_variance", {channels})},
          {epsilon});
    }
    const std::string magnitude =
        graph_.Add("ReduceMean", name + "_mean", {graph_.Add("Abs", name + "_abs", {x})},
                   {IntegersAttribute("axes", {2, 3})});
    const std::string divisor = graph_.Add(
        "Add", name + "_divisor", {magnitude, graph_.Scalar(name + "_epsilon", nn::kEncoderNormEpsilon)});
    const std::string normed = graph_.Add("Div", name + "_normed", {x, divisor});
    const std::string scaled =
        graph_.Add("Mul", name + "_scaled", {normed, Tensor(tensor + "weight", {channels, 1, 1})});
    return graph_.Add("Add", name, {scaled, Tensor(tensor + "bias", {channels, 1, 1})});
  }

  std::string Activate(std::size_t stage, const std::string& x) {
    const std::string name = fmt::format("activation{}", stage);
    if (options_.activation == nn::EncoderActivation::kRelu) return graph_.Add("Relu", name, {x});
    if (options_.quantised) {  // rounds and clips as the encoder does
      const std::string bytes =
          graph_.Add("QuantizeLinear", name + "_bytes", {x, "pixel_unit", "pixel_zero"});
      return graph_.Add("DequantizeLinear", name, {bytes, "pixel_unit", "pixel_zero"});
    }
    return graph_.Add(
        "Clip", name,
        {x, graph_.Scalar(name + "_floor", 0.0f), graph_.Scalar(name + "_ceiling", nn::kHardClipCeiling)});
  }

  // The means of areas as one product with a constant matrix [side² × grid²], because the areas are of
  // different sizes where grid does not divide the side.
  std::string AreaMeans(const std::string& x, std::size_t side) {
    const std::size_t grid = options_.grid, areas = grid * grid;
    std::vector<float> matrix(side * side * areas, 0.0f);
    const auto edge = [&](std::size_t g) { return side * g / grid; };
    for (std::size_t gy = 0; gy < grid; ++gy) {
      for (std::size_t gx = 0; gx < grid; ++gx) {
        const std::size_t pixels = (edge(gy + 1) - edge(gy)) * (edge(gx + 1) - edge(gx));
        for (std::size_t row = edge(gy); row < edge(gy + 1); ++row) {
          for (std::size_t column = edge(gx); column < edge(gx + 1); ++column) {
            matrix[(row * side + column) * areas + gy * grid + gx] = 1.0f / static_cast<float>(pixels);
          }
        }
      }
    }
    const auto channels = static_cast<std::int64_t>(options_.channels.back());
    const std::string planes =
        graph_.Add("Reshape", "planes",
                   {x, graph_.Shape("planes_shape", {-1, channels, static_cast<std::int64_t>(side * side)})});
    const std::string means =
        graph_.Add("MatMul", "means", {planes, graph_.Constant("areas", {side * side, areas}, matrix)});
    return graph_.Add("Flatten", "features", {means});
  }

  const nn::EncoderOptions& options_;
  const nn::ParameterLayout& layout_;
  std::span<const float> parameters_;
  Graph graph_;
};

void Declare(onnx::ValueInfoProto& value, const char* name, onnx::TensorProto::DataType type,
             std::initializer_list<std::size_t> shape) {
  value.set_name(name);
  onnx::TypeProto::Tensor* tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::size_t dimension : shape) {
    tensor->mutable_shape()->add_dim()->set_dim_value(static_cast<std::int64_t>(dimension));
  }
}

std::string Entry(const parameters::ModelMetadata& metadata, std::string_view key) {
  const auto entry = metadata.find(key);
  return entry == metadata.end() ? "" : entry->second;
}

void DescribeOnnx(const parameters::ModelMetadata& metadata, bool classifier, onnx::ModelProto& model) {
  parameters::ModelMetadata entries = metadata;
  // The keys that ONNX defines for images (its MetadataProps.md).
  const bool grey = Entry(metadata, "input.colour") != "RGB";
  entries["Image.BitmapPixelFormat"] = grey ? "Gray8" : "Rgb8";
  entries["Image.NominalPixelRange"] = "NominalRange_0_255";
  for (const auto& [key, value] : entries) {
    onnx::StringStringEntryProto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  const std::string run = Entry(metadata, "run"), round = Entry(metadata, "round");
  const char* const colour = grey ? "grey" : "colour";
  std::string doc = classifier
                        ? fmt::format("A classifier of {} images.", colour)
                        : fmt::format("An encoder of {} images that was learned without labels.", colour);
  if (!run.empty()) doc += fmt::format(" Run {}, round {}.", run, round);
  model.set_doc_string(doc);
  std::int64_t version = 0;
  if (absl::SimpleAtoi(round, &version)) model.set_model_version(version);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_doc_string(doc);
  graph.mutable_input(0)->set_doc_string(fmt::format("{} images, {}; preprocessing: {}",
                                                     grey ? "grey" : "RGB", Entry(metadata, "input.layout"),
                                                     Entry(metadata, "preprocessing")));
  graph.mutable_output(0)->set_doc_string(Entry(metadata, "output.meaning"));
}

ordered_json ValuesJson(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  ordered_json json = ordered_json::array();
  for (const onnx::ValueInfoProto& value : values) {
    const onnx::TypeProto::Tensor& tensor = value.type().tensor_type();
    ordered_json shape = ordered_json::array();
    for (const onnx::TensorShapeProto::Dimension& dimension : tensor.shape().dim()) {
      shape.push_back(dimension.has_dim_param() ? ordered_json(dimension.dim_param())
                                                : ordered_json(dimension.dim_value()));
    }
    json.push_back({{"name", value.name()},
                    {"dtype", onnx::TensorProto::DataType_Name(tensor.elem_type())},
                    {"shape", std::move(shape)},
                    {"doc", value.doc_string()}});
  }
  return json;
}

}  // namespace

namespace {

// `classes` 0: an encoder.
std::string EncodeNetwork(const nn::EncoderOptions& options, const nn::ParameterLayout& layout,
                          std::span<const float> parameters, std::size_t classes,
                          const parameters::ModelMetadata& metadata) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("tributary");
  model.set_producer_version(runtime::kVersion);
  model.add_opset_import()->set_version(kOperatorSet);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name(classes == 0 ? "encoder" : "classifier");
  Declare(*graph->add_input(), "images", onnx::TensorProto::UINT8,
          {options.input_channels, options.side, options.side});
  const std::string result = Exporter(options, layout, parameters, *graph).Export(classes);
  Declare(*graph->add_output(), result.c_str(), onnx::TensorProto::FLOAT,
          {classes == 0 ? options.feature_count() : classes});
  graph->mutable_input(0)->mutable_type()->set_denotation("IMAGE");
  DescribeOnnx(metadata, classes > 0, model);
  return model.SerializeAsString();
}

}  // namespace

absl::StatusOr<std::string> EncodeOnnx(const nn::EncoderFile& encoder,
                                       const parameters::ModelMetadata& metadata) {
  // Checks options and parameters, and knows the layout.
  ASSIGN_OR_RETURN(const auto trainer, nn::SelfSupervisedTrainer::Create(encoder.options));
  RETURN_IF_ERROR(trainer->SetParameters(encoder.parameters));
  const nn::ParameterLayout layout(trainer->Schema());
  return EncodeNetwork(encoder.options.encoder, layout, encoder.parameters, 0, metadata);
}

absl::StatusOr<std::string> EncodeOnnx(const nn::ClassifierFile& classifier,
                                       const parameters::ModelMetadata& metadata) {
  if (classifier.classes == 0) {
    return absl::InvalidArgumentError(
        "the classifier has no head; tributary model export makes one for the classes of --labels FILE");
  }
  const nn::ParameterLayout layout(nn::ClassifierSchema(classifier.encoder, classifier.classes));
  if (classifier.parameters.size() != layout.size()) {
    return absl::InvalidArgumentError("the classifier has another number of parameters");
  }
  parameters::ModelMetadata entries = metadata;
  entries["tributary.outputs"] = "logits";
  std::vector<std::size_t> labels(classifier.classes);
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  entries["tributary.classes"] = fmt::format("{}", fmt::join(labels, ","));
  return EncodeNetwork(classifier.encoder, layout, classifier.parameters, classifier.classes, entries);
}

absl::StatusOr<ordered_json> SummariseOnnx(std::string_view file) {
  onnx::ModelProto model;
  const bool fits = file.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !model.ParseFromArray(file.data(), static_cast<int>(file.size())) || !model.has_graph()) {
    return absl::InvalidArgumentError("not an ONNX model");
  }
  const onnx::GraphProto& graph = model.graph();
  if (std::max({graph.input_size(), graph.output_size(), graph.initializer_size()}) > kMaxValues) {
    return absl::InvalidArgumentError(fmt::format("more than {} inputs, outputs or tensors", kMaxValues));
  }
  ordered_json json = {{"producer", model.producer_name() + " " + model.producer_version()},
                       {"opset", model.opset_import_size() > 0 ? model.opset_import(0).version() : 0},
                       {"doc", model.doc_string()}};
  // Not straight into the JSON: there a key is found by going through all of them, and a file of 1 MB has
  // room for 100,000.
  parameters::ModelMetadata metadata;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    metadata.insert_or_assign(entry.key(), entry.value());
  }
  json["metadata"] = metadata;
  json["inputs"] = ValuesJson(model.graph().input());
  json["outputs"] = ValuesJson(model.graph().output());
  json["nodes"] = model.graph().node_size();
  json["tensors"] = ordered_json::array();
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    json["tensors"].push_back(
        {{"name", tensor.name()},
         {"dtype", onnx::TensorProto::DataType_Name(tensor.data_type())},
         {"shape", ordered_json(std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end()))}});
  }
  return json;
}

}  // namespace tributary::exchange
