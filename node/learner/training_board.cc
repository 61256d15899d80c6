#include "node/learner/training_board.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>

#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "node/accelerator/encoder_stages.h"
#include "node/learner/augmentation.h"

namespace tributary::learner {
namespace {

bool IsTable(std::string_view augmentation) { return augmentation == "table"; }

}  // namespace

class TrainingBoard::BoardViews final : public nn::Augmenter {
 public:
  BoardViews(TrainingBoard& board, std::unique_ptr<nn::Augmenter> processor)
      : board_(board), processor_(std::move(processor)) {}

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                 std::span<std::uint8_t> views) override {
    const auto seed = static_cast<std::uint32_t>(key);
    if (board_.Succeeded(board_.board_.views->MakeViews(images, seed, views))) return;
    processor_->MakeViews(images, key, views);
  }

 private:
  TrainingBoard& board_;
  const std::unique_ptr<nn::Augmenter> processor_;
};

class TrainingBoard::BoardStages final : public nn::StageUnit {
 public:
  BoardStages(TrainingBoard& board, std::unique_ptr<accelerator::EncoderStages> stages)
      : board_(board), stages_(std::move(stages)) {}

  bool Compute(std::span<const std::uint8_t> images, std::span<const std::int8_t> kernels) override {
    return board_.Succeeded(stages_->Compute(images, kernels));
  }
  std::span<const std::uint8_t> Result(std::size_t stage) const override { return stages_->Result(stage); }

 private:
  TrainingBoard& board_;
  const std::unique_ptr<accelerator::EncoderStages> stages_;
};

absl::StatusOr<std::unique_ptr<TrainingBoard>> TrainingBoard::Open(const accelerator::XrtOptions& options) {
  absl::StatusOr<accelerator::EncoderBoard> board = accelerator::OpenXrtEncoderBoard(options);
  if (board.ok()) return std::make_unique<TrainingBoard>(*std::move(board), options.fall_back_to_cpu);
  if (!options.fall_back_to_cpu || absl::IsInvalidArgument(board.status())) return board.status();
  runtime::LogError("{}; fallback = \"cpu\": the processor trains instead until the next start",
                    std::string(board.status().message()));
  return std::make_unique<TrainingBoard>(accelerator::EncoderBoard(), true);
}

absl::Status TrainingBoard::Check(const nn::EncoderOptions& encoder, std::string_view augmentation) const {
  if (fall_back_to_cpu_) return absl::OkStatus();
  const bool views = IsTable(augmentation);
  if (!views && !encoder.quantised) {
    return absl::FailedPreconditionError(
        "this node's board computes nothing of such a run: augmentation = \"table\" makes its views there, "
        "encoder.quantised = true its convolutions");
  }
  std::string_view missing;
  if (views && board_.views == nullptr) missing = accelerator::kXrtViewsKernel;
  if (encoder.quantised && board_.tensors == nullptr) missing = accelerator::kXrtTensorKernel;
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "this node's xclbin has no {}, which such a run needs; with fallback = \"cpu\" the processor computes "
      "that part",
      missing));
}

std::uint64_t TrainingBoard::Bytes(const nn::EncoderOptions& encoder, std::size_t batch) const {
  if (!encoder.quantised || board_.tensors == nullptr) return 0;
  return accelerator::EncoderStages::Bytes(encoder, batch);
}

std::unique_ptr<nn::Augmenter> TrainingBoard::Views(std::string_view augmentation,
                                                    std::unique_ptr<nn::Augmenter> processor) {
  if (!IsTable(augmentation) || board_.views == nullptr) return processor;
  return std::make_unique<BoardViews>(*this, std::move(processor));
}

absl::StatusOr<std::unique_ptr<nn::StageUnit>> TrainingBoard::Stages(const nn::EncoderOptions& encoder,
                                                                     std::size_t batch) {
  if (!encoder.quantised || board_.tensors == nullptr) return nullptr;
  auto stages = accelerator::EncoderStages::Create(encoder, batch, *board_.tensors);
  if (stages.ok()) return std::make_unique<BoardStages>(*this, *std::move(stages));
  if (!fall_back_to_cpu_) return stages.status();
  runtime::LogError("{}; fallback = \"cpu\": the processor computes this run's convolutions",
                    std::string(stages.status().message()));
  return nullptr;
}

bool TrainingBoard::Succeeded(const absl::Status& status) {
  if (status.ok()) {
    if (std::exchange(on_cpu_, false)) runtime::LogWarning("the board computes this node's training again");
    return true;
  }
  if (fall_back_to_cpu_) {
    ++fallbacks_;
    if (!std::exchange(on_cpu_, true)) {
      runtime::LogError("{}; fallback = \"cpu\": the processor trains instead",
                        std::string(status.message()));
    }
  } else {
    failure_.Update(status);
  }
  return false;
}

absl::StatusOr<EncoderParts> CreateParts(const nn::EncoderOptions& encoder, std::size_t batch,
                                         std::string_view augmentation,
                                         const nn::StrongAugmentationOptions& strong, TrainingBoard* board) {
  EncoderParts parts;
  ASSIGN_OR_RETURN(parts.views, CreateAugmenter(augmentation, strong));
  if (board == nullptr) return parts;
  parts.views = board->Views(augmentation, std::move(parts.views));
  ASSIGN_OR_RETURN(parts.stages, board->Stages(encoder, batch));
  return parts;
}

absl::Status TrainingBoard::TakeFailure() { return std::exchange(failure_, absl::OkStatus()); }

accelerator::Accelerator::Counters TrainingBoard::counters() const {
  accelerator::Accelerator::Counters counters;
  if (board_.views != nullptr) counters = counters + board_.views->counters();
  if (board_.tensors != nullptr) counters = counters + board_.tensors->counters();
  counters.fallbacks = fallbacks_;
  return counters;
}

}  // namespace tributary::learner
