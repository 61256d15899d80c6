#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/evaluate/encoder_judgement.h"
#include "cli/model/model_source.h"
#include "core/images/image_set.h"
#include "core/nn/encoder/encoder_file.h"

namespace tributary::cli {
namespace {

struct EvaluateEncoderArguments {
  ConnectionArguments connection;
  std::string model, images = "glyphs", labels, test_images = "glyphs", test_labels;
  bool json = false;
};

absl::Status Evaluate(const EvaluateEncoderArguments& arguments) {
  const auto file = ReadModelSource(arguments.model, arguments.connection);
  if (!file.ok()) return file.status();
  const auto encoder = nn::DecodeEncoder(*file);
  if (!encoder.ok()) {
    return absl::Status(encoder.status().code(),
                        absl::StrCat(arguments.model, ": ", encoder.status().message()));
  }
  const auto train = images::ReadImages(arguments.images, arguments.labels, images::ImageUse::kTraining);
  if (!train.ok()) return train.status();
  const auto test = images::ReadImages(arguments.test_images, arguments.test_labels, images::ImageUse::kTest);
  if (!test.ok()) return test.status();
  const auto trainer = nn::SelfSupervisedTrainer::Create(encoder->options);
  if (!trainer.ok()) return trainer.status();
  if (absl::Status status = (*trainer)->SetParameters(encoder->parameters); !status.ok()) return status;
  const auto judgement = JudgeEncoder(**trainer, *train, *test);
  if (!judgement.ok()) return judgement.status();
  if (arguments.json) {
    std::cout << ToJson(*judgement).dump() << "\n";
  } else {
    PrintJudgement(*judgement);
  }
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateEncoderCommand(Commands& evaluate) {
  auto [command, arguments] = evaluate.Add<EvaluateEncoderArguments>(
      "encoder", "Measure the features of an encoder by a linear probe and kNN", Evaluate);
  command.Connection(arguments.connection);
  command.Text("model", arguments.model, kModelSourceType, kModelSourceHelp)->required();
  command.Text("--images", arguments.images, "glyphs|FILE",
               "Images to fit the probe on: an idx or idx.gz file, or \"glyphs\" (built in, drawn)");
  command.Text("--labels", arguments.labels, "FILE", "Labels of these images: an idx or idx.gz file");
  command.Text("--test-images", arguments.test_images, "glyphs|FILE",
               "Images to test on: a file, or \"glyphs\"");
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
