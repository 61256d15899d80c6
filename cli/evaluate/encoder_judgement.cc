#include "cli/evaluate/encoder_judgement.h"

#include <fmt/format.h>

#include <iostream>

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
    if (set->side != trainer.options().encoder.side) {
      return absl::InvalidArgumentError(
          fmt::format("images of side {}, the encoder takes {}", set->side, trainer.options().encoder.side));
    }
    if (set->labels.size() != set->count()) return absl::InvalidArgumentError("judging needs labels");
  }
  const auto random = nn::SelfSupervisedTrainer::Create(trainer.options());
  if (!random.ok()) return random.status();
  (*random)->CalibrateStatistics(train.pixels);
  const auto encoder = Judge(trainer, train, test);
  if (!encoder.ok()) return encoder.status();
  const auto baseline = Judge(**random, train, test);
  if (!baseline.ok()) return baseline.status();
  return EncoderJudgement{*encoder, *baseline};
}

nlohmann::ordered_json ToJson(const EncoderJudgement& judgement) {
  return {{"encoder", ToJson(judgement.encoder)}, {"random_encoder", ToJson(judgement.random)}};
}

void PrintJudgement(const EncoderJudgement& judgement) {
  PrintRow("this encoder", judgement.encoder);
  PrintRow("random encoder", judgement.random);
}

}  // namespace tributary::cli
