// A learner and the aggregator that gives it tasks, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/images/image_set.h"
#include "core/link/federation_server_fixture.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/update_encoding.h"
#include "node/learner/image_trainer.h"
#include "node/learner/learner.h"
#include "tests/support/own_folder.h"

namespace tributary::learner {

class LearnerFixture : public ::testing::Test {
 protected:
  // A network that trains in no time.
  static nn::SelfSupervisedOptions Small() {
    nn::SelfSupervisedOptions options;
    options.encoder.channels = {4, 8};
    options.projection = 8;
    options.bottleneck = 4;
    options.batch = 8;
    return options;
  }

  LearnerFixture() {
    const auto trainer = nn::SelfSupervisedTrainer::Create(Small());
    server_.model = nn::EncodeEncoder(**trainer);
    global_.assign((*trainer)->parameters().begin(), (*trainer)->parameters().end());
    server_.chunk_bytes = 1 << 20;
    server_.answer.set_accepted(true);
  }

  ~LearnerFixture() override { std::filesystem::remove(state_file_); }

  void Start(const std::string& state_file = "", std::size_t buffer = 0,
             images::ImageSet images = images::DrawGlyphs(40, 1), std::uint64_t memory_bytes = 0) {
    StartWith(std::make_unique<ImageTrainer>(std::move(images), "south", buffer), state_file, memory_bytes);
  }

  void StartWith(std::unique_ptr<Trainer> trainer, const std::string& state_file = "",
                 std::uint64_t memory_bytes = 0) {
    LearnerOptions options;
    options.memory_bytes = memory_bytes;
    options.client.aggregator = server_.address();
    options.client.node = "south";
    options.client.run = "run";
    options.state_file = state_file;
    metrics_.emplace();
    server_.Forget();  // a node that starts must not be given a task of the one before
    learner_.emplace(options, std::move(trainer), clock_, *metrics_);
    learner_->Start();
  }

  v1::ParticipateResponse Task(std::uint32_t round,
                               v1::UpdateEncoding encoding = v1::UPDATE_ENCODING_FLOAT32) const {
    v1::ParticipateResponse task = testing::TrainResponse(round, global_.size(), server_.model.size());
    const parameters::Sha256 sha =
        parameters::ParameterIdentity(*parameters::DecodeSafetensors(server_.model));
    task.mutable_train()->set_model_sha256(sha.data(), sha.size());
    task.mutable_train()->mutable_settings()->set_encoding(encoding);
    return task;
  }

  // Waits until this many rounds have ended, with or without success.
  LearnerCounters Await(std::uint64_t rounds) {
    for (;;) {
      const LearnerCounters c = learner_->counters();
      if (c.accepted + c.refused + c.failed >= rounds) return c;
      std::this_thread::yield();
    }
  }

  LearnerCounters Do(std::uint32_t round, v1::UpdateEncoding encoding = v1::UPDATE_ENCODING_FLOAT32) {
    server_.Push(Task(round, encoding));
    return Await(++rounds_);
  }

  // The values of a submission.
  static std::vector<float> Received(const std::vector<v1::SubmitUpdateRequest>& submission) {
    const v1::UpdateHeader& header = submission[0].header();
    std::vector<float> all;
    parameters::UpdateDecoder decoder(static_cast<parameters::UpdateEncoding>(header.encoding()),
                                      header.element_count());
    for (std::size_t i = 1; i < submission.size(); ++i) {
      const v1::UpdateChunk& chunk = submission[i].chunk();
      const auto values = decoder.Decode(chunk.offset(), chunk.count(), chunk.payload());
      EXPECT_TRUE(values.ok()) << values.status();
      all.insert(all.end(), values->begin(), values->end());
    }
    return all;
  }

  runtime::SystemClock clock_;
  testing::FakeFederation server_;
  std::vector<float> global_;
  std::uint64_t rounds_ = 0;
  const std::string state_file_ = OwnFolder() + "learner." +
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                                  ".safetensors";
  std::optional<runtime::Metrics> metrics_;
  std::optional<Learner> learner_;
};

}  // namespace tributary::learner
