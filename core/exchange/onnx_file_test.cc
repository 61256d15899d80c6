#include "core/exchange/onnx_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "core/exchange/model_description.h"
#include "core/graph/graph_model.h"
#include "core/graph/session.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/nn/kernel/random_stream.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"
#include "core/runtime/version.h"
#include "tests/support/own_folder.h"

namespace tributary::exchange {
namespace {

constexpr std::size_t kImages = 8;
constexpr int kSkipped = 77;

struct Case {
  const char* name;
  nn::EncoderNorm norm;
  nn::EncoderActivation activation;
  bool quantised;
  std::size_t side;
  std::size_t grid;
  std::size_t input_channels = 1;
};
void PrintTo(const Case& shown, std::ostream* out) { *out << shown.name; }

// The outputs of a model for images that it takes one at a time.
std::vector<float> Computed(const std::string& model, std::span<const std::uint8_t> images) {
  const auto session = graph::Session::Load(model);
  EXPECT_TRUE(session.ok()) << session.status();
  graph::Array image((*session)->inputs()[0].spec);
  std::vector<float> outputs;
  for (std::size_t first = 0; first < images.size(); first += image.bytes.size()) {
    std::memcpy(image.bytes.data(), images.data() + first, image.bytes.size());
    const graph::View views[] = {image.view()};
    EXPECT_TRUE((*session)->Run(views).ok());
    const std::span<const float> values = (*session)->output(0).As<const float>();
    outputs.insert(outputs.end(), values.begin(), values.end());
  }
  return outputs;
}

class ClassifierOnnxTest : public ::testing::Test {};

class EncoderOnnxTest : public ::testing::TestWithParam<Case> {
 protected:
  static std::vector<std::uint8_t> Images(const Case& c) {
    std::vector<std::uint8_t> pixels(kImages * c.input_channels * c.side * c.side);
    nn::RandomStream random(3);
    for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
    return pixels;
  }

  // A few steps, so that every tensor (running statistics above all) has left its initial value.
  static std::unique_ptr<nn::SelfSupervisedTrainer> Trained(const Case& c) {
    nn::SelfSupervisedOptions options;
    options.encoder = {.side = c.side,
                       .input_channels = c.input_channels,
                       .channels = {4, 8},
                       .grid = c.grid,
                       .norm = c.norm,
                       .activation = c.activation,
                       .quantised = c.quantised};
    options.batch = kImages;
    auto trainer = *nn::SelfSupervisedTrainer::Create(options);
    for (int i = 0; i < 5; ++i) (void)trainer->Step(Images(c));
    return trainer;
  }

  static void Write(const std::string& path, const void* bytes, std::size_t size) {
    std::ofstream(path, std::ios::binary)
        .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  }
};

TEST_P(EncoderOnnxTest, GivesTheSameFeatures) {
  const auto trainer = Trained(GetParam());
  const std::vector<std::uint8_t> images = Images(GetParam());
  const std::vector<float> expected = trainer->Features(images);
  const auto model =
      EncodeOnnx({trainer->options(), {trainer->parameters().begin(), trainer->parameters().end()}},
                 {{"run", "letters"}, {"round", "12"}});
  ASSERT_TRUE(model.ok()) << model.status();

  const std::string stem = OwnFolder() + "encoder_onnx_" + GetParam().name;
  Write(stem + ".onnx", model->data(), model->size());
  Write(stem + ".images", images.data(), images.size());
  const int status = std::system(
      fmt::format("/usr/bin/python3 {}/core/exchange/encoder_onnx_evaluate.py {}.onnx {}.images > {}.txt",
                  TRIBUTARY_SOURCE_DIR, stem, stem, stem)
          .c_str());
  if (WIFEXITED(status) && (WEXITSTATUS(status) == kSkipped || WEXITSTATUS(status) == 127)) {
    GTEST_SKIP() << "needs /usr/bin/python3 with onnx and numpy (python3-onnx)";
  }
  ASSERT_EQ(status, 0);
  std::ifstream output(stem + ".txt");
  std::vector<float> features;
  for (float value = 0; output >> value;) features.push_back(value);
  ASSERT_EQ(features.size(), expected.size());
  // Quantised sums are exact in float32, and here each area is one pixel.
  const float tolerance = GetParam().quantised ? 1e-6f : 1e-4f;
  for (std::size_t i = 0; i < features.size(); ++i) EXPECT_NEAR(features[i], expected[i], tolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(
    EveryVariant, EncoderOnnxTest,
    ::testing::Values(
        Case{"batch_norm", nn::EncoderNorm::kBatch, nn::EncoderActivation::kRelu, false, 28, 3},
        Case{"filter_response", nn::EncoderNorm::kFilterResponse, nn::EncoderActivation::kRelu, false, 15, 1},
        Case{"hard_clip", nn::EncoderNorm::kBatch, nn::EncoderActivation::kHardClip, false, 12, 2},
        Case{"colour", nn::EncoderNorm::kBatch, nn::EncoderActivation::kRelu, false, 32, 4, 3},
        Case{"quantised_colour", nn::EncoderNorm::kNone, nn::EncoderActivation::kHardClip, true, 16, 4, 3},
        Case{"quantised", nn::EncoderNorm::kNone, nn::EncoderActivation::kHardClip, true, 28, 7}),
    ::testing::PrintToStringParamName());

// Our own reader of graphs is a second witness.
TEST_P(EncoderOnnxTest, OurGraphsGiveTheSameFeatures) {
  const auto trainer = Trained(GetParam());
  const std::vector<std::uint8_t> images = Images(GetParam());
  const std::vector<float> expected = trainer->Features(images);
  const auto model =
      EncodeOnnx({trainer->options(), {trainer->parameters().begin(), trainer->parameters().end()}}, {});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<float> features = Computed(*model, images);
  ASSERT_EQ(features.size(), expected.size());
  const float tolerance = GetParam().quantised ? 1e-6f : 1e-4f;
  for (std::size_t i = 0; i < features.size(); ++i) EXPECT_NEAR(features[i], expected[i], tolerance) << i;
}

TEST_F(ClassifierOnnxTest, NamesTheClassesThatTheTrainerNames) {
  nn::SupervisedOptions options{
      .encoder = {.side = 12, .channels = {4, 8}, .grid = 3, .norm = nn::EncoderNorm::kFilterResponse},
      .classes = 5};
  const auto trainer = *nn::SupervisedTrainer::Create(options);
  std::vector<std::uint8_t> pixels(40 * 144);
  nn::RandomStream random(3);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
  const nn::ClassifierFile file{
      options.encoder, 5, {trainer->parameters().begin(), trainer->parameters().end()}};
  const auto model = EncodeOnnx(file, {});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<float> logits = Computed(*model, pixels);
  ASSERT_EQ(logits.size(), 40 * 5u);
  const std::vector<std::uint8_t> classes = trainer->Classify(pixels);
  for (std::size_t n = 0; n < classes.size(); ++n) {
    const auto row = std::span(logits).subspan(5 * n, 5);
    EXPECT_EQ(std::ranges::max_element(row) - row.begin(), classes[n]) << n;
  }
}

TEST_F(ClassifierOnnxTest, APanelKnowsWhatItsOutputsAre) {
  nn::ClassifierFile file{.encoder = {.norm = nn::EncoderNorm::kNone}, .classes = 3, .parameters = {}};
  file.parameters = nn::FreshClassifier(file.encoder, 3, 1);
  const auto model = graph::DecodeGraphModel(*EncodeOnnx(file, {}), {});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->meaning.kind, graph::OutputKind::kLogits);
  EXPECT_EQ(model->meaning.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(model->inputs, 784u);
}

TEST_F(ClassifierOnnxTest, WithoutAHeadThereIsNothingToExport) {
  nn::ClassifierFile file;
  file.encoder.norm = nn::EncoderNorm::kNone;
  file.parameters = nn::FreshClassifier(file.encoder, 0, 1);
  EXPECT_FALSE(EncodeOnnx(file, {}).ok());
}

// What somebody needs who finds the file without us.
class ModelMetadataTest : public ::testing::Test {
 protected:
  static parameters::TensorSet Encoder() {
    nn::SelfSupervisedOptions options;
    options.encoder.channels = {4, 8};
    options.encoder.grid = 3;
    return *parameters::DecodeSafetensors(nn::EncodeEncoder(**nn::SelfSupervisedTrainer::Create(options)));
  }
  static onnx::ModelProto Onnx(const parameters::TensorSet& set) {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(*EncodeOnnx(*nn::EncoderFromTensors(set), set.metadata)));
    return model;
  }
  static parameters::ModelMetadata Metadata(const onnx::ModelProto& model) {
    parameters::ModelMetadata metadata;
    for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
    return metadata;
  }
};

TEST_F(ModelMetadataTest, SaysWhichRunMadeItAndWhatGoesInAndComesOut) {
  parameters::TensorSet set = Encoder();
  Describe(set, {"letters", 12});
  const onnx::ModelProto model = Onnx(set);
  const parameters::ModelMetadata metadata = Metadata(model);
  for (const auto& [key, value] : set.metadata)
    EXPECT_EQ(metadata.at(key), value) << "as in the safetensors file";
  EXPECT_EQ(metadata.at("run"), "letters");
  EXPECT_EQ(metadata.at("round"), "12");
  EXPECT_EQ(metadata.at("name"), "letters");
  EXPECT_EQ(metadata.at("version"), "12");
  EXPECT_EQ(metadata.at("producer"), std::string("tributary ") + runtime::kVersion);
  EXPECT_EQ(metadata.at("parameters_sha256"), parameters::HexOf(parameters::ParameterIdentity(set)));
  EXPECT_EQ(metadata.at("input.layout"), "NCHW");
  EXPECT_EQ(metadata.at("input.shape"), "N,1,28,28");
  EXPECT_EQ(std::stod(metadata.at("input.scale")), 1.0 / 256);
  EXPECT_EQ(metadata.at("input.mean"), "0");
  EXPECT_EQ(metadata.at("input.std"), "1");
  EXPECT_EQ(metadata.at("output.shape"), "N,72");
  EXPECT_EQ(metadata.at("channels"), "4,8");
  EXPECT_EQ(metadata.at("Image.BitmapPixelFormat"), "Gray8");
  EXPECT_EQ(model.model_version(), 12);
  EXPECT_NE(model.doc_string().find("Run letters, round 12"), std::string::npos);
  EXPECT_NE(model.graph().input(0).doc_string().find("NCHW"), std::string::npos);
  EXPECT_NE(model.graph().output(0).doc_string().find("c * 9 + y * 3 + x"), std::string::npos);
}

TEST_F(ModelMetadataTest, SaysThatImagesAreInColour) {
  nn::SelfSupervisedOptions options;
  options.encoder.side = 32;
  options.encoder.input_channels = 3;
  parameters::TensorSet set =
      *parameters::DecodeSafetensors(nn::EncodeEncoder(**nn::SelfSupervisedTrainer::Create(options)));
  Describe(set, {"pictures", 3});
  const onnx::ModelProto model = Onnx(set);
  EXPECT_EQ(Metadata(model).at("input.shape"), "N,3,32,32");
  EXPECT_EQ(Metadata(model).at("input.colour"), "RGB");
  EXPECT_EQ(Metadata(model).at("Image.BitmapPixelFormat"), "Rgb8");
  EXPECT_NE(model.doc_string().find("colour images"), std::string::npos);
}

TEST_F(ModelMetadataTest, AnExportedFileKeepsItsOriginAndAnotherModelDoesNotInheritIt) {
  parameters::TensorSet set = Encoder();
  Describe(set, {"letters", 12});
  parameters::TensorSet exported = *parameters::DecodeSafetensors(parameters::EncodeSafetensors(set));
  Describe(exported, {});
  EXPECT_EQ(exported.metadata, set.metadata);
  exported.tensors.begin()->second.bytes[0] ^= std::byte{1};
  Describe(exported, {});
  EXPECT_FALSE(exported.metadata.contains("run"));
  EXPECT_FALSE(exported.metadata.contains("round"));
  RemoveDescription(set);
  EXPECT_EQ(set.metadata, Encoder().metadata);
}

TEST_F(ModelMetadataTest, ControlCharactersOfAPeerAreEscaped) {
  parameters::TensorSet set = Encoder();
  set.metadata["evil\n"] = "\x1b[2J";
  Describe(set, {"letters\x07", 1});
  const onnx::ModelProto model = Onnx(set);
  EXPECT_EQ(Metadata(model).at("evil\\x0a"), "\\x1b[2J");
  EXPECT_EQ(Metadata(model).at("run"), "letters\\x07");
  EXPECT_EQ(model.doc_string().find('\x07'), std::string::npos);
}

TEST_F(ModelMetadataTest, InspectShowsIt) {
  parameters::TensorSet set = Encoder();
  Describe(set, {"letters", 12});
  const auto summary = SummariseOnnx(*EncodeOnnx(*nn::EncoderFromTensors(set), set.metadata));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ((*summary)["metadata"]["round"], "12");
  EXPECT_EQ((*summary)["inputs"][0]["name"], "images");
  EXPECT_EQ((*summary)["inputs"][0]["shape"].dump(), "[\"N\",1,28,28]");
  EXPECT_EQ((*summary)["outputs"][0]["dtype"], "FLOAT");
  EXPECT_FALSE(SummariseOnnx("no model").ok());
}

TEST(EncoderOnnxOptionsTest, RefusesParametersOfAnotherModel) {
  nn::EncoderFile encoder;
  encoder.parameters.resize(7);
  EXPECT_EQ(EncodeOnnx(encoder, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

// The processor's time for a summary of so many entries of metadata.
double SummarySeconds(std::size_t entries) {
  onnx::ModelProto model;
  model.mutable_graph();
  for (std::size_t i = 0; i < entries; ++i) model.add_metadata_props()->set_key(std::to_string(i));
  const std::string file = model.SerializeAsString();
  const std::clock_t begin = std::clock();
  EXPECT_EQ(SummariseOnnx(file)->at("metadata").size(), entries);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(OnnxFileTest, RefusesMoreTensorsThanAnyModelHas) {
  onnx::ModelProto model;
  for (int i = 0; i < 100'000; ++i) model.mutable_graph()->add_initializer();
  EXPECT_TRUE(SummariseOnnx(model.SerializeAsString()).ok());
  model.mutable_graph()->add_initializer();
  EXPECT_EQ(SummariseOnnx(model.SerializeAsString()).status(),
            absl::InvalidArgumentError("more than 100000 inputs, outputs or tensors"));
}

TEST(OnnxFileTest, FourTimesTheMetadataTakesNoSixteenTimesTheWork) {
  EXPECT_LT(SummarySeconds(80'000), 10 * SummarySeconds(20'000));
}

}  // namespace
}  // namespace tributary::exchange
