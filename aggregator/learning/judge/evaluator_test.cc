#include "aggregator/learning/judge/evaluator.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/crc32c.h"
#include "core/runtime/clock.h"

namespace tributary {
namespace {

constexpr const char* kRun = R"(
name = "r"
rounds = 1
min_nodes = 1
quorum = 1
)";

// Waits until the round's line in the history has been judged.
class JudgementWatch final : public RunBoard::Listener {
 public:
  explicit JudgementWatch(const RunBoard& board) : board_(board) {}
  void OnChange() override {
    const auto run = board_.Find("r");
    if (run == nullptr || run->history.empty() || !run->history.back()->judgement || told_) return;
    told_ = true;
    promise_.set_value(*run->history.back()->judgement);
  }
  std::future<Judgement> future() { return promise_.get_future(); }

 private:
  const RunBoard& board_;
  bool told_ = false;
  std::promise<Judgement> promise_;
};

class SilentNode final : public TaskSink {
 public:
  void OnTask(TaskNotice notice) override {
    if (notice.task.kind == TaskKind::kTrain) task_.set_value(std::move(notice));
  }
  void OnEnd(absl::Status) override {}
  TaskNotice Wait() { return task_.get_future().get(); }

 private:
  std::promise<TaskNotice> task_;
};

TEST(EvaluatorTest, PutsTheModelOfARoundBesideTheRandomEncoder) {
  char name[] = "/tmp/evaluator_test.XXXXXX";
  const std::string folder = mkdtemp(name);
  const SystemClock clock;
  {
    auto coordinator = Coordinator::Start({folder + "/store", 0, true}, clock);
    ASSERT_TRUE(coordinator.ok()) << coordinator.status();
    auto images = ReadEvaluationImages({"glyphs", "", "", "", 100});
    ASSERT_TRUE(images.ok()) << images.status();
    const auto evaluator = Evaluator::Start(**coordinator, *std::move(images));
    const auto watch = std::make_shared<JudgementWatch>((*coordinator)->board());
    (*coordinator)->board().Add(watch);
    std::future<Judgement> judged = watch->future();

    SelfSupervisedOptions options;
    options.encoder.channels = {4, 8};
    const auto trainer = SelfSupervisedTrainer::Create(options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    (*coordinator)->StartRun(kRun, EncodeEncoder(**trainer), [](const absl::StatusOr<std::string>& started) {
      EXPECT_TRUE(started.ok()) << started.status();
    });
    const auto node = std::make_shared<SilentNode>();
    (*coordinator)->Join("r", {"a", std::string(16, 'b'), {}, 1, {"self_supervised"}, {}, false}, node);
    const TaskNotice task = node->Wait();

    SubmissionHeader header;
    header.round = task.task.round;
    header.node = "a";
    header.schema = task.model.schema;
    header.base_model = task.model.model;
    header.element_count = task.model.element_count;
    header.sample_count = 1;
    std::promise<std::unique_ptr<Upload>> begun;
    (*coordinator)->BeginUpload("r", header, [&](Coordinator::Began began) {
      begun.set_value(std::get<std::unique_ptr<Upload>>(std::move(began)));
    });
    std::unique_ptr<Upload> upload = begun.get_future().get();
    const std::string zeros(header.element_count * sizeof(float), '\0');
    const auto count = static_cast<std::uint32_t>(header.element_count);
    ASSERT_LT(zeros.size(), kMaxChunkBytes);
    ASSERT_FALSE(upload->Take({0, count, zeros, Crc32c(zeros)}));
    (*coordinator)->Submit("r", std::move(upload), [](const SubmissionAnswer& answer) {
      EXPECT_TRUE(answer.accepted) << answer.message;
    });

    ASSERT_EQ(judged.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    const Judgement judgement = judged.get();
    EXPECT_EQ(judgement.test_images, 100u);
    // Ten kinds of glyphs: better than chance with any encoder.
    EXPECT_GT(judgement.linear_probe, 0.2);
    EXPECT_GT(judgement.random_linear_probe, 0.2);
    EXPECT_GT(judgement.random_knn, 0.2);
    evaluator->Stop();
  }
  std::filesystem::remove_all(folder);
}

TEST(EvaluationImagesTest, RefusesImagesWithoutLabels) {
  EXPECT_FALSE(ReadEvaluationImages({"/nonexistent", "", "", "", 0}).ok());
}

}  // namespace
}  // namespace tributary
