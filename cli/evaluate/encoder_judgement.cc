#include "cli/evaluate/encoder_judgement.h"

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "cli/commands.h"
#include "cli/model/model_source.h"
#include "core/images/image_set.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

absl::StatusOr<nn::EncoderEvaluation> Judge(nn::SelfSupervisedTrainer& trainer, const images::ImageSet& train,
                                            const images::ImageSet& test) {
  const std::vector<float> train_features = trainer.Features(train.pixels);
  const std::vector<float> test_features = trainer.Features(test.pixels);
  return nn::EvaluateFeatures({train_features, train.labels}, {test_features, test.labels},
                              trainer.options().encoder.feature_count());
}

nlohmann::ordered_json ToJson(const nn::EncoderEvaluation& e) {
  return {{"linear_accuracy", e.linear_accuracy}, {"knn_accuracy", e.knn_accuracy}, {"spread", e.spread}};
}

void PrintRow(const char* name, const nn::EncoderEvaluation& e) {
  std::cout << fmt::format("{:<16} linear probe {:6.2f} %   kNN {:6.2f} %   spread {:.2f}\n", name,
                           100 * e.linear_accuracy, 100 * e.knn_accuracy, e.spread);
}

}  // namespace

absl::StatusOr<EncoderJudgement> JudgeEncoder(nn::SelfSupervisedTrainer& trainer,
                                              const images::ImageSet& train, const images::ImageSet& test) {
  for (const images::ImageSet* set : {&train, &test}) {
    const nn::ImageShape taken = trainer.options().encoder.image();
    if (set->shape() != taken) {
      return absl::InvalidArgumentError(
          fmt::format("images of {}, the encoder takes {}", set->shape().Text(), taken.Text()));
    }
    if (set->labels.size() != set->count()) return absl::InvalidArgumentError("judging needs labels");
  }
  ASSIGN_OR_RETURN(const auto random, nn::SelfSupervisedTrainer::Create(trainer.options()));
  random->CalibrateStatistics(train.pixels);
  ASSIGN_OR_RETURN(const auto encoder, Judge(trainer, train, test));
  ASSIGN_OR_RETURN(const auto baseline, Judge(*random, train, test));
  return EncoderJudgement{encoder, baseline};
}

nlohmann::ordered_json ToJson(const EncoderJudgement& judgement) {
  return {{"encoder", ToJson(judgement.encoder)},
          {"random_encoder", ToJson(judgement.random)},
          {"worse_than_untrained", judgement.worse_than_untrained()}};
}

void PrintJudgement(const EncoderJudgement& judgement) {
  PrintRow("this encoder", judgement.encoder);
  PrintRow("random encoder", judgement.random);
  if (judgement.worse_than_untrained()) std::cout << "worse than the untrained encoder\n";
}

namespace {

struct EvaluateEncoderArguments {
  ConnectionArguments connection;
  std::string model, images = "glyphs", labels, test_images = "glyphs", test_labels;
  bool json = false;
};

absl::Status Evaluate(const EvaluateEncoderArguments& arguments) {
  ASSIGN_OR_RETURN(const auto file, ReadModelSource(arguments.model, arguments.connection));
  ASSIGN_OR_RETURN(const auto encoder, WithContext(arguments.model, nn::DecodeEncoder(file.bytes)));
  const nn::ImageShape fitted = encoder.options.encoder.image();
  ASSIGN_OR_RETURN(const auto train, images::ReadImages({arguments.images, arguments.labels, fitted},
                                                        images::ImageUse::kTraining));
  ASSIGN_OR_RETURN(const auto test, images::ReadImages({arguments.test_images, arguments.test_labels, fitted},
                                                       images::ImageUse::kTest));
  ASSIGN_OR_RETURN(const auto trainer, nn::SelfSupervisedTrainer::Create(encoder.options));
  RETURN_IF_ERROR(trainer->SetParameters(encoder.parameters));
  ASSIGN_OR_RETURN(const auto judgement, JudgeEncoder(*trainer, train, test));
  if (arguments.json) {
    std::cout << ToJson(judgement).dump() << "\n";
  } else {
    PrintJudgement(judgement);
  }
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateEncoderCommand(Commands& evaluate) {
  auto [command, arguments] = evaluate.Add<EvaluateEncoderArguments>(
      "encoder", "Measure the features of an encoder by a linear probe and kNN", Evaluate);
  command.Connection(arguments.connection);
  command.Text("model", arguments.model, kModelSourceType, kModelSourceHelp)->required();
  command.Text(
      "--images", arguments.images, "glyphs|FILE|FOLDER",
      "Images to fit the probe on: an idx or idx.gz file, a folder with a folder of PNG and JPEG files for "
      "each class, or \"glyphs\" (built in, drawn)");
  command.Text("--labels", arguments.labels, "FILE", "Labels of these images: an idx or idx.gz file");
  command.Text("--test-images", arguments.test_images, "glyphs|FILE|FOLDER",
               "Images to test on: a file, a folder, or \"glyphs\"");
  command.Text("--test-labels", arguments.test_labels, "FILE", "Labels of the test images: a file");
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n"
      "  tributary evaluate encoder encoder.safetensors\n"
      "  tributary evaluate encoder run:letters@3       the model of a run after round 3\n"
      "  tributary evaluate encoder encoder.safetensors --images train-images-idx3-ubyte.gz --labels "
      "train-labels-idx1-ubyte.gz \\\n"
      "    --test-images t10k-images-idx3-ubyte.gz --test-labels t10k-labels-idx1-ubyte.gz");
}

}  // namespace tributary::cli
