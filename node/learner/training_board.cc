#include "node/learner/training_board.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>

#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "node/accelerator/encoder_gradients.h"
#include "node/accelerator/encoder_stages.h"
#include "node/learner/augmentation.h"

namespace tributary::learner {
namespace {

bool IsTable(std::string_view augmentation) { return augmentation == "table"; }

// What the board will compute of this node's training.
void Say(const accelerator::XrtOptions& options, std::string_view kernel, std::string_view what, bool has) {
  if (has) {
    runtime::LogInfo("board {} computes {} in this node's training: {} of {}", options.device, what, kernel,
                     options.xclbin);
  } else {
    runtime::LogWarning("{} has no {}: runs with {} on a board are {}", options.xclbin, kernel, what,
                        options.fall_back_to_cpu ? "computed by the processor" : "declined");
  }
}

absl::Status Lacks(std::string_view kernel) {
  return absl::UnavailableError(fmt::format("this node's board offers no {}", kernel));
}

}  // namespace

class TrainingBoard::BoardViews final : public nn::Augmenter {
 public:
  BoardViews(TrainingBoard& board, std::unique_ptr<nn::Augmenter> processor)
      : board_(board), processor_(std::move(processor)) {}

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                 std::span<std::uint8_t> views) override {
    const auto on_board = [&] {
      accelerator::ViewUnit* const unit = board_.board_.views.get();
      if (unit == nullptr) return Lacks(accelerator::kXrtViewsKernel);
      return unit->MakeViews(images, static_cast<std::uint32_t>(key), views);
    };
    if (!board_.Computed(board_.views_, on_board)) processor_->MakeViews(images, key, views);
  }

 private:
  TrainingBoard& board_;
  const std::unique_ptr<nn::Augmenter> processor_;
};

class TrainingBoard::BoardStages final : public nn::StageUnit {
 public:
  BoardStages(TrainingBoard& board, const nn::EncoderOptions& encoder, std::size_t batch)
      : board_(board), encoder_(encoder), batch_(batch) {}

  bool Compute(std::span<const std::uint8_t> images, std::span<const std::int8_t> kernels) override {
    return board_.Computed(board_.stages_, [&] {
      RETURN_IF_ERROR(Ready());
      return stages_->Compute(images, kernels);
    });
  }
  std::span<const std::uint8_t> Result(std::size_t stage) const override { return stages_->Result(stage); }

  bool AddWeightGradient(std::size_t stage, const nn::Planes& x, const nn::Planes& y_gradient,
                         std::span<float> weight_gradient) override {
    return WithGradients([&](accelerator::EncoderGradients& gradients) {
      return gradients.AddWeights(stage, x, y_gradient, weight_gradient);
    });
  }
  bool ComputeInputGradient(std::size_t stage, std::span<const float> weights, const nn::Planes& y_gradient,
                            nn::Planes& x_gradient) override {
    return WithGradients([&](accelerator::EncoderGradients& gradients) {
      return gradients.ComputeInputs(stage, weights, y_gradient, x_gradient);
    });
  }

  // What the board answered, if it would answer the same again.
  const absl::Status& refused() const { return refused_; }

  absl::Status Ready() {
    if (stages_ != nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(refused_);
    const accelerator::TensorTarget* const unit = board_.board_.tensors.get();
    if (unit == nullptr) return Lacks(accelerator::kXrtTensorKernel);
    auto created = accelerator::EncoderStages::Create(encoder_, batch_, *unit);
    if (created.ok()) {
      stages_ = *std::move(created);
    } else if (absl::IsInvalidArgument(created.status()) || absl::IsResourceExhausted(created.status())) {
      refused_ = created.status();
    }
    return created.status();
  }

  // For a board that computes gradients.
  absl::Status ReadyGradients() {
    if (gradients_ != nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(refused_);
    auto created = accelerator::EncoderGradients::Create(encoder_, batch_, *board_.board_.tensors);
    if (created.ok()) {
      gradients_ = *std::move(created);
    } else if (absl::IsResourceExhausted(created.status())) {
      refused_ = created.status();
    }
    return created.status();
  }

 private:
  // Gradients are the processor's, uncounted, where no board could compute them.
  bool WithGradients(absl::FunctionRef<absl::Status(accelerator::EncoderGradients&)> compute) {
    if (!board_.ComputesGradients(encoder_)) return false;
    return board_.Computed(board_.gradients_, [&] {
      RETURN_IF_ERROR(ReadyGradients());
      return compute(*gradients_);
    });
  }

  TrainingBoard& board_;
  const nn::EncoderOptions encoder_;
  const std::size_t batch_;
  // Null: the board was away so far.
  std::unique_ptr<accelerator::EncoderStages> stages_;
  std::unique_ptr<accelerator::EncoderGradients> gradients_;
  absl::Status refused_;
};

absl::StatusOr<std::unique_ptr<TrainingBoard>> TrainingBoard::Open(const accelerator::XrtOptions& options) {
  absl::StatusOr<accelerator::EncoderBoard> board = accelerator::OpenXrtEncoderBoard(options);
  if (board.ok()) {
    Say(options, accelerator::kXrtViewsKernel, "views", board->views != nullptr);
    const bool bfloat16 = board->tensors != nullptr && board->tensors->size().bfloat16;
    Say(options, bfloat16 ? accelerator::kXrtTensorBfloatKernel : accelerator::kXrtTensorKernel,
        bfloat16 ? "convolutions and their gradients" : "convolutions", board->tensors != nullptr);
    return std::make_unique<TrainingBoard>(*std::move(board), options.fall_back_to_cpu);
  }
  if (!options.fall_back_to_cpu || absl::IsInvalidArgument(board.status())) return board.status();
  runtime::LogError("{}; fallback = \"cpu\": the processor trains instead until the next start",
                    std::string(board.status().message()));
  auto none = std::make_unique<TrainingBoard>(accelerator::EncoderBoard(), true);
  for (Part* part : {&none->views_, &none->stages_, &none->gradients_}) part->on_cpu = true;
  return none;
}

absl::Status TrainingBoard::Check(const nn::EncoderOptions& encoder, std::string_view augmentation) const {
  if (fall_back_to_cpu_) return absl::OkStatus();
  const bool views = IsTable(augmentation);
  if (!views && !encoder.quantised) {
    return absl::FailedPreconditionError(
        "this node's board has nothing to compute in such a run: give it client.augmentation = \"table\" for "
        "views on the board, or encoder.quantised = true for convolutions");
  }
  std::string_view missing;
  if (views && board_.views == nullptr) missing = accelerator::kXrtViewsKernel;
  if (encoder.quantised && board_.tensors == nullptr) missing = accelerator::kXrtTensorKernel;
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("this node's xclbin has no {}, which such a run needs; with fallback = \"cpu\" the "
                    "processor computes that part",
                    missing));
  }
  if (!encoder.quantised) return absl::OkStatus();
  const std::string why = accelerator::EncoderStages::WhyNot(encoder, *board_.tensors);
  return why.empty() ? absl::OkStatus() : absl::FailedPreconditionError(why);
}

void TrainingBoard::SayIfUnused(const nn::EncoderOptions& encoder, std::string_view augmentation) {
  if (IsTable(augmentation) || encoder.quantised || std::exchange(said_unused_, true)) return;
  runtime::LogWarning(
      "the processor trains alone in a run that has nothing for this node's board: neither "
      "client.augmentation = \"table\" nor encoder.quantised = true");
}

std::uint64_t TrainingBoard::Bytes(const nn::EncoderOptions& encoder, std::size_t batch) const {
  if (!encoder.quantised || board_.tensors == nullptr) return 0;
  return accelerator::EncoderStages::Bytes(encoder, batch, *board_.tensors) +
         accelerator::EncoderGradients::Bytes(encoder, batch, *board_.tensors);
}

bool TrainingBoard::ComputesGradients(const nn::EncoderOptions& encoder) const {
  return board_.tensors != nullptr && accelerator::EncoderGradients::WhyNot(encoder, *board_.tensors).empty();
}

std::unique_ptr<nn::Augmenter> TrainingBoard::Views(std::string_view augmentation,
                                                    std::unique_ptr<nn::Augmenter> processor) {
  if (!IsTable(augmentation)) return processor;
  return std::make_unique<BoardViews>(*this, std::move(processor));
}

absl::StatusOr<std::unique_ptr<nn::StageUnit>> TrainingBoard::Stages(const nn::EncoderOptions& encoder,
                                                                     std::size_t batch) {
  if (!encoder.quantised) return nullptr;
  if (board_.tensors != nullptr && board_.tensors->size().bfloat16 && !ComputesGradients(encoder)) {
    runtime::LogInfo("the processor computes the gradients of this run: {}",
                     accelerator::EncoderGradients::WhyNot(encoder, *board_.tensors));
  }
  auto stages = std::make_unique<BoardStages>(*this, encoder, batch);
  stages->Ready().IgnoreError();  // Compute says what came of it
  if (ComputesGradients(encoder)) stages->ReadyGradients().IgnoreError();
  if (!fall_back_to_cpu_) RETURN_IF_ERROR(stages->refused());
  return stages;
}

bool TrainingBoard::Computed(Part& part, absl::FunctionRef<absl::Status()> compute) {
  if (!failure_.ok()) return false;  // the round is lost: it need not wait for another time-out
  const absl::Status status = compute();
  if (status.ok()) {
    if (std::exchange(part.on_cpu, false))
      runtime::LogWarning("the board computes the {} of this node's training again", part.what);
    return true;
  }
  if (!fall_back_to_cpu_) {
    failure_ = status;
    return false;
  }
  ++fallbacks_;
  if (!std::exchange(part.on_cpu, true)) {
    runtime::LogError("{}; fallback = \"cpu\": the processor computes the {} of this node's training",
                      std::string(status.message()), part.what);
  }
  return false;
}

absl::Status TrainingBoard::TakeFailure() { return std::exchange(failure_, absl::OkStatus()); }

accelerator::Accelerator::Counters TrainingBoard::counters() const {
  accelerator::Accelerator::Counters counters;
  if (board_.views != nullptr) counters = counters + board_.views->counters();
  if (board_.tensors != nullptr) counters = counters + board_.tensors->counters();
  counters.fallbacks = fallbacks_;
  return counters;
}

absl::StatusOr<EncoderParts> CreateParts(const nn::EncoderOptions& encoder, std::size_t batch,
                                         std::string_view augmentation,
                                         const nn::StrongAugmentationOptions& strong, TrainingBoard* board) {
  EncoderParts parts;
  ASSIGN_OR_RETURN(parts.views, CreateAugmenter(augmentation, strong));
  if (board == nullptr) return parts;
  board->SayIfUnused(encoder, augmentation);
  parts.views = board->Views(augmentation, std::move(parts.views));
  ASSIGN_OR_RETURN(parts.stages, board->Stages(encoder, batch));
  return parts;
}

}  // namespace tributary::learner
