#include "node/learner/image_trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "core/nn/encoder/encoder_file.h"
#include "core/status/macros.h"

namespace tributary::learner {
namespace {

constexpr const char* kLocal = "local";
constexpr const char* kTarget = "target";
constexpr const char* kIndices = "buffer.index";
constexpr const char* kNovelties = "buffer.novelty";

void Put(parameters::TensorSet& set, const char* name, std::span<const float> values) {
  if (values.empty()) return;
  const std::uint64_t shape[] = {values.size()};
  set.tensors[name] = parameters::FloatTensor(shape, values);
}

// Empty if there is none.
absl::StatusOr<std::vector<float>> Get(const parameters::TensorSet& set, const char* name) {
  const auto entry = set.tensors.find(name);
  if (entry == set.tensors.end()) return std::vector<float>();
  return parameters::FloatValues(name, entry->second, entry->second.shape);
}

// A novelty is a float that was widened.
void PutBuffer(parameters::TensorSet& set, std::span<const images::KeptImage> buffer) {
  if (buffer.empty()) return;
  std::vector<std::uint32_t> indices;
  std::vector<float> novelties;
  for (const images::KeptImage& each : buffer) {
    indices.push_back(each.index);
    novelties.push_back(static_cast<float>(each.novelty));
  }
  parameters::Tensor tensor{parameters::ElementType::kInt32, {indices.size()}, {}};
  const auto bytes = std::as_bytes(std::span(indices));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  set.tensors[kIndices] = std::move(tensor);
  Put(set, kNovelties, novelties);
}

absl::StatusOr<std::vector<images::KeptImage>> GetBuffer(const parameters::TensorSet& set) {
  ASSIGN_OR_RETURN(const std::vector<float> novelties, Get(set, kNovelties));
  const auto entry = set.tensors.find(kIndices);
  const bool fits = entry == set.tensors.end()
                        ? novelties.empty()
                        : entry->second.type == parameters::ElementType::kInt32 &&
                              entry->second.bytes.size() == novelties.size() * sizeof(std::uint32_t);
  if (!fits) return absl::DataLossError("the images and the novelties that were kept do not fit");
  std::vector<images::KeptImage> buffer(novelties.size());
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    std::memcpy(&buffer[i].index, entry->second.bytes.data() + i * sizeof(std::uint32_t),
                sizeof(std::uint32_t));
    buffer[i].novelty = novelties[i];
  }
  return buffer;
}

}  // namespace

ImageTrainer::ImageTrainer(images::ImageSet images, std::string node, std::size_t buffer,
                           TrainingBoard* board)
    : images_(std::move(images)), node_(std::move(node)), buffer_(buffer), board_(board) {}

absl::StatusOr<TrainingPlan> ImageTrainer::Plan(const wire::TrainTask& task,
                                                const parameters::TensorSet& model) {
  ASSIGN_OR_RETURN(const nn::EncoderFile encoder, nn::EncoderFromTensors(model));
  planned_ = LocalTrainingOf(task, encoder.options, node_, buffer_);
  const bool follows = planned_.trainer.method == nn::SelfSupervisedMethod::kByol;
  const nn::EncoderOptions& network = planned_.trainer.encoder;
  if (board_ != nullptr) RETURN_IF_ERROR(board_->Check(network, planned_.augmentation));
  return TrainingPlan{
      .bytes = SelfSupervisedWorkload::Bytes(images_.count(), planned_) +
               (board_ == nullptr ? 0 : board_->Bytes(network, planned_.trainer.batch)),
      .kept_vectors = (planned_.ema_lambda > 0 ? std::size_t{1} : 0) + (follows ? 1 : 0),
      .what = fmt::format("a batch of {} images of {} through {} channels", planned_.trainer.batch,
                          network.image().Text(), fmt::join(network.channels, ", "))};
}

absl::Status ImageTrainer::Prepare() {
  std::vector<std::uint32_t> all(images_.count());
  std::iota(all.begin(), all.end(), 0U);
  ASSIGN_OR_RETURN(workload_, SelfSupervisedWorkload::Create(images_, std::move(all), planned_, board_));
  return absl::OkStatus();
}

absl::Status ImageTrainer::Train(const wire::TrainTask& task, std::span<const float> global,
                                 const std::stop_token& withdrawn, std::span<float> update,
                                 v1::UpdateMetrics& metrics) {
  ASSIGN_OR_RETURN(
      const SelfSupervisedWorkload::Outcome outcome,
      workload_->Train(
          task.round - 1, task.train.settings().local_steps(), global,
          [&withdrawn] { return withdrawn.stop_requested(); }, update, task.train.failed_rounds()));
  metrics.set_loss(outcome.loss);
  metrics.set_spread(outcome.spread);
  return absl::OkStatus();
}

parameters::TensorSet ImageTrainer::State() const {
  parameters::TensorSet set;
  Put(set, kLocal, workload_->local());
  Put(set, kTarget, workload_->target());
  PutBuffer(set, workload_->buffered());
  return set;
}

absl::Status ImageTrainer::Restore(const wire::TrainTask& task, const parameters::TensorSet& state) {
  const v1::ClientSettings& settings = task.train.settings();
  ASSIGN_OR_RETURN(const std::vector<float> local, Get(state, kLocal));
  ASSIGN_OR_RETURN(const std::vector<float> target, Get(state, kTarget));
  ASSIGN_OR_RETURN(const std::vector<images::KeptImage> buffer, GetBuffer(state));
  if (settings.ema_lambda() > 0 && !local.empty()) RETURN_IF_ERROR(workload_->SetLocal(local));
  if (settings.method() == "byol" && !target.empty()) RETURN_IF_ERROR(workload_->SetTarget(target));
  return buffer_ > 0 ? workload_->SetBuffered(buffer) : absl::OkStatus();
}

}  // namespace tributary::learner
