// What an encoder is worth on labelled images, beside the same network with random weights.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "core/images/image_set.h"
#include "core/nn/encoder/encoder_evaluation.h"
#include "core/nn/encoder/self_supervised_trainer.h"

namespace tributary::cli {

struct EncoderJudgement {
  nn::EncoderEvaluation encoder;
  nn::EncoderEvaluation random;  // the untrained encoder of the same options

  bool worse_than_untrained() const {
    return encoder.linear_accuracy < random.linear_accuracy || encoder.knn_accuracy < random.knn_accuracy;
  }
};

// The encoder as it is; the random one, which has seen no image, with its running statistics measured on the
// training images. Errors: those of EvaluateFeatures; InvalidArgument for
// images of another side or without labels.
absl::StatusOr<EncoderJudgement> JudgeEncoder(nn::SelfSupervisedTrainer& trainer,
                                              const images::ImageSet& train, const images::ImageSet& test);

nlohmann::ordered_json ToJson(const EncoderJudgement& judgement);
void PrintJudgement(const EncoderJudgement& judgement);

}  // namespace tributary::cli
