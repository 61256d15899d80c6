#include "cli/evaluate/evaluate_encoder.h"

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/evaluate/encoder_judgement.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "core/images/labelled_images.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/runtime/service.h"

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

void AddEvaluateEncoderCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<EvaluateEncoderArguments>();
  CLI::App* command =
      parent.add_subcommand("encoder", "Measure the features of an encoder by a linear probe and kNN");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("model", arguments->model, kModelSourceHelp)->required();
  command
      ->add_option("--images", arguments->images,
                   "Images to fit the probe on: an idx or idx.gz file, or \"glyphs\" (built in, drawn)")
      ->capture_default_str();
  command->add_option("--labels", arguments->labels, "Labels of these images: an idx or idx.gz file")
      ->type_name("FILE");
  command->add_option("--test-images", arguments->test_images, "Images to test on: a file, or \"glyphs\"")
      ->capture_default_str();
  command->add_option("--test-labels", arguments->test_labels, "Labels of the test images: a file")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the figures as JSON");
  command->footer(
      "Examples:\n"
      "  tributary evaluate encoder encoder.safetensors\n"
      "  tributary evaluate encoder run:letters@3       the model of a run after round 3\n"
      "  tributary evaluate encoder encoder.safetensors --images train-images-idx3-ubyte.gz --labels "
      "train-labels-idx1-ubyte.gz \\\n"
      "    --test-images t10k-images-idx3-ubyte.gz --test-labels t10k-labels-idx1-ubyte.gz");
  command->callback([arguments, &exit_code] {
    const absl::Status status = Evaluate(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("evaluate encoder", status);
  });
}

}  // namespace tributary::cli
