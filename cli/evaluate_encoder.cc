#include "cli/evaluate_encoder.h"

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/encoder_judgement.h"
#include "cli/failure.h"
#include "core/images/labelled_images.h"
#include "core/nn/encoder_file.h"
#include "core/runtime/file.h"
#include "core/runtime/service.h"

namespace tributary {
namespace {

struct Arguments {
  std::string model, images = "glyphs", labels, test_images = "glyphs", test_labels;
  bool json = false;
};

absl::Status Evaluate(const Arguments& arguments) {
  const auto file = ReadFile(arguments.model);
  if (!file.ok()) return file.status();
  const auto encoder = DecodeEncoder(*file);
  if (!encoder.ok()) {
    return absl::Status(encoder.status().code(),
                        absl::StrCat(arguments.model, ": ", encoder.status().message()));
  }
  const auto train = ReadImages(arguments.images, arguments.labels, ImageUse::kTraining);
  if (!train.ok()) return train.status();
  const auto test = ReadImages(arguments.test_images, arguments.test_labels, ImageUse::kTest);
  if (!test.ok()) return test.status();
  const auto trainer = SelfSupervisedTrainer::Create(encoder->options);
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
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = parent.add_subcommand("encoder", "Linear probe and kNN on the features of an encoder");
  command->add_option("model", arguments->model, "Encoder file")->required();
  command->add_option("--images", arguments->images, "Labelled training images, idx or idx.gz, or \"glyphs\"")
      ->capture_default_str();
  command->add_option("--labels", arguments->labels);
  command->add_option("--test-images", arguments->test_images, "Likewise")->capture_default_str();
  command->add_option("--test-labels", arguments->test_labels);
  command->add_flag("--json", arguments->json, "Print the figures as JSON");
  command->footer(
      "Examples:\n"
      "  tributary evaluate encoder encoder.safetensors\n"
      "  tributary evaluate encoder encoder.safetensors --images train-images-idx3-ubyte.gz --labels "
      "train-labels-idx1-ubyte.gz \\\n"
      "    --test-images t10k-images-idx3-ubyte.gz --test-labels t10k-labels-idx1-ubyte.gz");
  command->callback([arguments, &exit_code] {
    const absl::Status status = Evaluate(*arguments);
    exit_code = status.ok() ? kExitOk : ReportFailure("evaluate encoder", status);
  });
}

}  // namespace tributary
