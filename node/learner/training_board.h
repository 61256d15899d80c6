// The board beside a trainer of encoders: views and convolutions in programmable logic.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/encoder/augmenter.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/nn/encoder/stage_unit.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "node/accelerator/create.h"
#include "node/accelerator/encoder_board.h"

namespace tributary::learner {

// The board computes the table augmentation's views and a quantised encoder's convolutions, with the bits of
// the processor, and the gradients of these convolutions if its unit has bfloat16. Where it fails, or lacks
// the kernel, the processor computes the batch; the training then goes on if the configuration allows that,
// else TakeFailure tells its caller to end it. Logs the begin and the end of such a time for each part, and
// counts every batch. One thread, except for counters(). Outlives what it gives.
class TrainingBoard {
 public:
  // Errors: those of OpenXrtEncoderBoard, unless the processor may compute instead.
  static absl::StatusOr<std::unique_ptr<TrainingBoard>> Open(const accelerator::XrtOptions& options);

  // A part that is null is one that the xclbin lacks.
  TrainingBoard(accelerator::EncoderBoard board, bool fall_back_to_cpu)
      : board_(std::move(board)), fall_back_to_cpu_(fall_back_to_cpu) {}

  // Whether it takes part in such training. FailedPrecondition, with the reason: it computes nothing of it,
  // or not all that a board could, and the processor must not.
  absl::Status Check(const nn::EncoderOptions& encoder, std::string_view augmentation) const;

  // A line in the log, once, if the board computes nothing of such training.
  void SayIfUnused(const nn::EncoderOptions& encoder, std::string_view augmentation);

  // Bytes that its part of such training takes at most.
  std::uint64_t Bytes(const nn::EncoderOptions& encoder, std::size_t batch) const;

  // Whether it computes the gradients of this encoder's convolutions.
  bool ComputesGradients(const nn::EncoderOptions& encoder) const;

  // Views of that augmentation; `processor` makes them where the board does not.
  std::unique_ptr<nn::Augmenter> Views(std::string_view augmentation,
                                       std::unique_ptr<nn::Augmenter> processor);

  // Null: the encoder has no convolutions for a board. A board that is away is asked again with each batch.
  // Errors, unless the processor may compute instead: ResourceExhausted: no memory for them on the board.
  absl::StatusOr<std::unique_ptr<nn::StageUnit>> Stages(const nn::EncoderOptions& encoder, std::size_t batch);

  // The first failure since the last call that ends the training; OK: none. After one the board is not asked
  // again until it was taken.
  absl::Status TakeFailure();

  accelerator::Accelerator::Counters counters() const;

 private:
  class BoardViews;
  class BoardStages;

  // What one kernel computes of a training.
  struct Part {
    const char* what;
    bool on_cpu = false;  // since the last batch
  };

  // Whether the board has computed a batch of `part`. False: the processor has to.
  bool Computed(Part& part, absl::FunctionRef<absl::Status()> compute);

  const accelerator::EncoderBoard board_;
  const bool fall_back_to_cpu_;
  Part views_{"views"}, stages_{"convolutions"}, gradients_{"gradients"};
  bool said_unused_ = false;
  absl::Status failure_;
  std::atomic<std::uint64_t> fallbacks_{0};
};

// What computes a trainer's views and convolutions. `stages` null: the processor.
struct EncoderParts {
  std::unique_ptr<nn::Augmenter> views;
  std::unique_ptr<nn::StageUnit> stages;
};
// `board` null: all on the processor. Errors: those of CreateAugmenter and of TrainingBoard::Stages.
absl::StatusOr<EncoderParts> CreateParts(const nn::EncoderOptions& encoder, std::size_t batch,
                                         std::string_view augmentation,
                                         const nn::StrongAugmentationOptions& strong, TrainingBoard* board);

}  // namespace tributary::learner
