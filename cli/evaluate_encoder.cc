#include "cli/evaluate_encoder.h"

#include <iostream>
#include <memory>
#include <string>

#include "cli/encoder_judgement.h"
#include "core/nn/encoder_file.h"
#include "core/runtime/file.h"
#include "node/source/images_idx.h"

namespace tributary {
namespace {

struct Arguments {
  std::string model, images, labels, test_images, test_labels;
  bool json = false;
};

absl::Status Evaluate(const Arguments& arguments) {
  const auto file = ReadFile(arguments.model);
  if (!file.ok()) return file.status();
  const auto encoder = DecodeEncoder(*file);
  if (!encoder.ok()) return encoder.status();
  const auto train = ReadIdxImages(arguments.images, arguments.labels);
  if (!train.ok()) return train.status();
  const auto test = ReadIdxImages(arguments.test_images, arguments.test_labels);
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
  command->add_option("--images", arguments->images, "Labelled training images, idx or idx.gz")->required();
  command->add_option("--labels", arguments->labels)->required();
  command->add_option("--test-images", arguments->test_images)->required();
  command->add_option("--test-labels", arguments->test_labels)->required();
  command->add_flag("--json", arguments->json, "Print the figures as JSON");
  command->callback([arguments, &exit_code] {
    if (const absl::Status status = Evaluate(*arguments); !status.ok()) {
      std::cerr << "tributary evaluate encoder: " << status.message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace tributary
