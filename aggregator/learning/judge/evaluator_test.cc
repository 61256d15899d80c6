#include "aggregator/learning/judge/evaluator.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "aggregator/learning/run/messages.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/crc32c.h"
#include "core/runtime/clock.h"

namespace tributary::learning {
namespace {

// Waits until the round's line in the history has been judged.
class JudgementWatch final : public RunBoard::Listener {
 public:
  JudgementWatch(const RunBoard& board, std::string run) : board_(board), run_(std::move(run)) {}
  void OnChange(const std::string& /*run*/) override {
    const auto run = board_.Find(run_);
    if (run == nullptr || run->last_evaluated == nullptr || told_) return;
    told_ = true;
    promise_.set_value(run->last_evaluated->evaluation());
  }
  std::future<v1::Evaluation> future() { return promise_.get_future(); }

 private:
  const RunBoard& board_;
  const std::string run_;
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

class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest() {
    char name[] = "/tmp/evaluator_test.XXXXXX";
    folder_ = mkdtemp(name);
    auto coordinator = Coordinator::Start({folder_ + "/store", 0, true}, clock_);
    EXPECT_TRUE(coordinator.ok()) << coordinator.status();
    coordinator_ = *std::move(coordinator);
    auto images = ReadEvaluationImages({"glyphs", "", "", "", 100});
    EXPECT_TRUE(images.ok()) << images.status();
    evaluator_ = Evaluator::Start(*coordinator_, *std::move(images));
  }
  ~EvaluatorTest() override {
    evaluator_->Stop();
    coordinator_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Does a round of that run and waits for its judgement.
  v1::Evaluation JudgementOfARun(const std::string& run = "r") {
    const auto watch = std::make_shared<JudgementWatch>(coordinator_->board(), run);
    coordinator_->board().Add(watch);
    std::future<v1::Evaluation> judged = watch->future();
    DoARound(run);
    const bool ready = judged.wait_for(std::chrono::minutes(5)) == std::future_status::ready;
    EXPECT_TRUE(ready);
    return ready ? judged.get() : v1::Evaluation();
  }
  // Starts the run and lets a node send an update of zeros.
  void DoARound(const std::string& run, const std::string& settings = "") {
    nn::SelfSupervisedOptions options;
    options.encoder.channels = {4, 8};
    const auto trainer = nn::SelfSupervisedTrainer::Create(options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    coordinator_->StartRun("name = \"" + run + "\"\nrounds = 1\nmin_nodes = 1\nquorum = 1\n" + settings,
                           nn::EncodeEncoder(**trainer), [](const absl::StatusOr<std::string>& started) {
                             EXPECT_TRUE(started.ok()) << started.status();
                           });
    const auto node = std::make_shared<SilentNode>();
    v1::ParticipateRequest declaration;
    declaration.set_node("a");
    declaration.set_boot_id(std::string(16, 'b'));
    declaration.set_sample_count(1);
    declaration.add_workloads("self_supervised");
    declaration.set_run(run);
    coordinator_->Join(declaration, node);
    SubmitZeros(run, node->Wait());
  }
  void SubmitZeros(const std::string& run, const v1::TrainTask& task) {
    v1::UpdateHeader header;
    header.set_round(task.round());
    header.set_node("a");
    header.set_schema_sha256(task.schema_sha256());
    header.set_base_model_sha256(task.model_sha256());
    header.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
    header.set_element_count(task.element_count());
    header.set_sample_count(1);
    std::promise<BegunUpload> begun;
    coordinator_->BeginUpload(run, "", header, [&](Coordinator::Began began) {
      begun.set_value(std::get<BegunUpload>(std::move(began)));
    });
    BegunUpload upload = begun.get_future().get();
    v1::UpdateChunk zeros;
    zeros.set_payload(std::string(header.element_count() * sizeof(float), '\0'));
    zeros.set_count(static_cast<std::uint32_t>(header.element_count()));
    zeros.set_crc32c(parameters::Crc32c(zeros.payload()));
    ASSERT_LT(zeros.payload().size(), parameters::kMaxChunkBytes);
    ASSERT_FALSE(upload.upload->Take(zeros));
    std::promise<void> committed;
    coordinator_->Submit(run, std::move(upload), [&](const Admission& answer) {
      EXPECT_EQ(answer.verdict, AdmissionVerdict::kGo) << answer.message;
      committed.set_value();
    });
    committed.get_future().wait();
  }
  void Delete(const std::string& run) {
    std::promise<absl::Status> deleted;
    coordinator_->DeleteRun(run, [&](const absl::Status& status) { deleted.set_value(status); });
    ASSERT_EQ(deleted.get_future().get(), absl::OkStatus());
  }

  const runtime::SystemClock clock_;
  std::string folder_;
  std::unique_ptr<Coordinator> coordinator_;
  std::shared_ptr<Evaluator> evaluator_;
};

TEST_F(EvaluatorTest, PutsTheModelOfARoundBesideTheRandomEncoder) {
  const v1::Evaluation evaluation = JudgementOfARun();
  EXPECT_EQ(evaluation.test_images(), 100u);
  // Ten kinds of glyphs: better than chance with any encoder.
  EXPECT_GT(evaluation.linear_probe(), 0.2);
  EXPECT_GT(evaluation.random_linear_probe(), 0.2);
  EXPECT_GT(evaluation.random_knn(), 0.2);
}

TEST_F(EvaluatorTest, JudgesARunThatGotTheNameOfADeletedOne) {
  EXPECT_EQ(JudgementOfARun().test_images(), 100u);
  Delete("r");
  EXPECT_EQ(JudgementOfARun().test_images(), 100u);
}

TEST_F(EvaluatorTest, AJudgementThatOutlivesItsRunIsNotThatOfTheNextRunOfThatName) {
  DoARound("r");  // is judged from now on
  Delete("r");
  DoARound("r", "[evaluation]\nevery_rounds = 0\n");  // is not
  JudgementOfARun("another");                         // after that of the first
  EXPECT_EQ(coordinator_->board().Find("r")->last_evaluated, nullptr);
}

TEST(EvaluationImagesTest, RefusesImagesWithoutLabels) {
  EXPECT_FALSE(ReadEvaluationImages({"/nonexistent", "", "", "", 0}).ok());
}

}  // namespace
}  // namespace tributary::learning
