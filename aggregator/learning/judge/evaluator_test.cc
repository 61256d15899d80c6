#include "aggregator/learning/judge/evaluator.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

#include "aggregator/learning/run/messages.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/crc32c.h"
#include "core/runtime/clock.h"

namespace tributary::learning {
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
  void OnChange(const std::string& /*run*/) override {
    const auto run = board_.Find("r");
    if (run == nullptr || run->last_evaluated == nullptr || told_) return;
    told_ = true;
    promise_.set_value(run->last_evaluated->evaluation());
  }
  std::future<v1::Evaluation> future() { return promise_.get_future(); }

 private:
  const RunBoard& board_;
  bool told_ = false;
  std::promise<v1::Evaluation> promise_;
};

class SilentNode final : public TaskSink {
 public:
  void OnTask(v1::ParticipateResponse message) override {
    if (message.has_train()) task_.set_value(message.train());
  }
  void OnEnd(absl::Status) override {}
  v1::TrainTask Wait() { return task_.get_future().get(); }

 private:
  std::promise<v1::TrainTask> task_;
};

TEST(EvaluatorTest, PutsTheModelOfARoundBesideTheRandomEncoder) {
  char name[] = "/tmp/evaluator_test.XXXXXX";
  const std::string folder = mkdtemp(name);
  const runtime::SystemClock clock;
  {
    auto coordinator = Coordinator::Start({folder + "/store", 0, true}, clock);
    ASSERT_TRUE(coordinator.ok()) << coordinator.status();
    auto images = ReadEvaluationImages({"glyphs", "", "", "", 100});
    ASSERT_TRUE(images.ok()) << images.status();
    const auto evaluator = Evaluator::Start(**coordinator, *std::move(images));
    const auto watch = std::make_shared<JudgementWatch>((*coordinator)->board());
    (*coordinator)->board().Add(watch);
    std::future<v1::Evaluation> judged = watch->future();

    nn::SelfSupervisedOptions options;
    options.encoder.channels = {4, 8};
    const auto trainer = nn::SelfSupervisedTrainer::Create(options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    (*coordinator)
        ->StartRun(kRun, nn::EncodeEncoder(**trainer), [](const absl::StatusOr<std::string>& started) {
          EXPECT_TRUE(started.ok()) << started.status();
        });
    const auto node = std::make_shared<SilentNode>();
    v1::ParticipateRequest declaration;
    declaration.set_node("a");
    declaration.set_boot_id(std::string(16, 'b'));
    declaration.set_sample_count(1);
    declaration.add_workloads("self_supervised");
    declaration.set_run("r");
    (*coordinator)->Join(declaration, node);
    const v1::TrainTask task = node->Wait();

    v1::UpdateHeader header;
    header.set_round(task.round());
    header.set_node("a");
    header.set_schema_sha256(task.schema_sha256());
    header.set_base_model_sha256(task.model_sha256());
    header.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
    header.set_element_count(task.element_count());
    header.set_sample_count(1);
    std::promise<BegunUpload> begun;
    (*coordinator)->BeginUpload("r", "", header, [&](Coordinator::Began began) {
      begun.set_value(std::get<BegunUpload>(std::move(began)));
    });
    BegunUpload upload = begun.get_future().get();
    v1::UpdateChunk zeros;
    zeros.set_payload(std::string(header.element_count() * sizeof(float), '\0'));
    zeros.set_count(static_cast<std::uint32_t>(header.element_count()));
    zeros.set_crc32c(parameters::Crc32c(zeros.payload()));
    ASSERT_LT(zeros.payload().size(), parameters::kMaxChunkBytes);
    ASSERT_FALSE(upload.upload->Take(zeros));
    (*coordinator)->Submit("r", std::move(upload), [](const Admission& answer) {
      EXPECT_EQ(answer.verdict, AdmissionVerdict::kGo) << answer.message;
    });

    ASSERT_EQ(judged.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    const v1::Evaluation evaluation = judged.get();
    EXPECT_EQ(evaluation.test_images(), 100u);
    // Ten kinds of glyphs: better than chance with any encoder.
    EXPECT_GT(evaluation.linear_probe(), 0.2);
    EXPECT_GT(evaluation.random_linear_probe(), 0.2);
    EXPECT_GT(evaluation.random_knn(), 0.2);
    evaluator->Stop();
  }
  std::filesystem::remove_all(folder);
}

TEST(EvaluationImagesTest, RefusesImagesWithoutLabels) {
  EXPECT_FALSE(ReadEvaluationImages({"/nonexistent", "", "", "", 0}).ok());
}

}  // namespace
}  // namespace tributary::learning
