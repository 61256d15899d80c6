// What a round takes is known before it begins: measured in a process of its own, from the model's file to
// the kept state.
#include "node/learner/training_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "core/images/image_set.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/memory_limit.h"
#include "core/runtime/process.h"
#include "node/learner/image_trainer.h"
#include "node/learner/learner_state.h"

namespace tributary::learner {
namespace {

struct Case {
  std::string name;
  std::size_t batch;
  std::string method;
  double ema_lambda;
  std::size_t buffer;
  bool quantised;
  bool masked;
  std::size_t projection;
};

class RoundMemoryTest : public ::testing::TestWithParam<Case> {
 protected:
  RoundMemoryTest() {
    v1::ClientSettings& settings = *task_.train.mutable_settings();
    settings.set_batch(static_cast<std::uint32_t>(GetParam().batch));
    settings.set_method(GetParam().method);
    settings.set_ema_lambda(GetParam().ema_lambda);
    settings.set_learning_rate(0.1);
    settings.set_local_steps(1);
    settings.set_augmentation("continuous");
    model_.projection = GetParam().projection;
    if (GetParam().quantised) {
      model_.encoder.norm = nn::EncoderNorm::kNone;
      model_.encoder.activation = nn::EncoderActivation::kHardClip;
      model_.encoder.quantised = true;
    }
    if (GetParam().masked) task_.masking.emplace();
    file_ = nn::EncodeEncoder(**nn::SelfSupervisedTrainer::Create(model_));
    std::size_t elements = 0;
    for (const auto& tensor : nn::SelfSupervisedSchema(model_)) elements += tensor.size();
    task_.train.set_element_count(elements);
    task_.train.set_model_bytes(file_.size());
  }

  // What the learner does in a round, without the network.
  void Round() {
    std::vector<float> update(task_.train.element_count());
    std::vector<float> residual(task_.masking ? 0 : update.size()), remainder(residual.size());
    std::ranges::fill(residual, 1.0f);
    std::ranges::fill(remainder, 1.0f);
    std::string received = file_;
    parameters::TensorSet set = *parameters::DecodeSafetensors(received);
    std::string().swap(received);
    ImageTrainer trainer(images_, "ash", GetParam().buffer);
    if (!trainer.Plan(task_, set).ok()) _exit(2);
    const std::vector<float> global = nn::EncoderFromTensors(set)->parameters;
    set = {};
    if (!trainer.Prepare().ok()) _exit(2);
    v1::UpdateMetrics metrics;
    for (const std::uint32_t round : {1, 2}) {
      task_.round = round;
      if (!trainer.Train(task_, global, std::stop_token(), update, metrics).ok()) _exit(2);
      trainer.EndRound();
    }
    { const std::vector<std::int32_t> words(task_.masking ? update.size() : 0, 1); }
    const std::string kept = EncodeLearnerState({"run", residual, trainer.State()});
    if (kept.empty()) _exit(3);
  }

  wire::TrainTask task_;
  nn::SelfSupervisedOptions model_;
  std::string file_;
  const images::ImageSet images_ = images::DrawGlyphs(2000, 1);
};

TEST_P(RoundMemoryTest, IsKnownBeforeItBegins) {
#ifdef TRIBUTARY_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than the training";
#endif
  const TrainingPlan plan =
      *ImageTrainer(images_, "ash", GetParam().buffer).Plan(task_, *parameters::DecodeSafetensors(file_));
  const std::uint64_t known = RoundBytes(task_, plan, true);
  runtime::ReturnFreedMemory();
  int result[2];
  ASSERT_EQ(pipe(result), 0);
  const pid_t child = fork();
  if (child == 0) {
    mallopt(M_MMAP_THRESHOLD, 64 << 10);  // as soon as memory is given back, others may have it
    const std::uint64_t before = runtime::ResidentBytes();
    Round();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const std::uint64_t peak = static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
    const std::uint64_t took = peak - std::min(before, peak);
    _exit(write(result[1], &took, sizeof(took)) == sizeof(took) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  std::uint64_t took = 0;
  ASSERT_EQ(read(result[0], &took, sizeof(took)), static_cast<ssize_t>(sizeof(took)));
  close(result[0]);
  close(result[1]);
  EXPECT_LE(took, known);
  // Not much too careful either: 8 MiB are for the connection, which is not here, and 4 MiB for what the
  // child shares with its parent.
  EXPECT_GE(took + (12 << 20), 0.9 * static_cast<double>(known));
}

INSTANTIATE_TEST_SUITE_P(Runs, RoundMemoryTest,
                         ::testing::Values(Case{"Default", 32, "simsiam", 0, 0, false, false, 128},
                                           Case{"LargeBatch", 512, "simsiam", 0, 0, false, false, 128},
                                           Case{"OfTheBoardsNetwork", 256, "simsiam", 0, 0, true, false, 128},
                                           Case{"WithTargetAndLocalModel", 128, "byol", 1, 0, false, false,
                                                2048},
                                           Case{"WithABuffer", 256, "simsiam", 0, 1000, false, false, 128},
                                           Case{"OfALargeModel", 8, "simsiam", 0, 0, false, false, 3000},
                                           Case{"Masked", 32, "byol", 0.5, 0, false, true, 1500}),
                         [](const auto& tested) { return tested.param.name; });

TEST(TrainingMemoryTest, AffordsUpToItsLimitAndSaysWhatIsMissing) {
  TrainingMemory memory(100 << 20, 0);
  memory.Measure();
  EXPECT_TRUE(memory.Afford(100 << 20, "a").ok());
  const absl::Status status = memory.Afford((100 << 20) + 1, "a batch of 4096 images");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(status.message()),
      ::testing::StartsWith("a batch of 4096 images needs 101 MiB, this node has 100 MiB for learning"));
  EXPECT_EQ(memory.needed(), (100u << 20) + 1);
}

TEST(TrainingMemoryTest, LeavesWhatIsReserved) {
  TrainingMemory all(0, 0), nothing(0, std::uint64_t{1} << 62), before(0, 0);
  all.Measure();
  nothing.Measure();
  EXPECT_GT(all.available(), 0u);
  EXPECT_EQ(nothing.available(), 0u);
  EXPECT_EQ(before.available(), 0u) << "not measured";
}

}  // namespace
}  // namespace tributary::learner
