// A store in a folder of its own, with one run: a small language for its tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/store.h"
#include "aggregator/store/store_reader.h"
#include "core/status/macros.h"

namespace tributary::store {

class StoreFixture : public ::testing::Test {
 protected:
  StoreFixture() {
    char name[] = "/tmp/store_test.XXXXXX";
    folder_ = std::string(mkdtemp(name)) + "/store";
  }
  ~StoreFixture() override { std::filesystem::remove_all(std::filesystem::path(folder_).parent_path()); }

  void Open(StoreStepHook hook = {}) {
    store_.reset();
    auto store = Store::Open(folder_, std::move(hook));
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  static ModelRecord Model(std::uint32_t round) { return {round, std::string(32, 'm'), 1, 10, {}, {}}; }

  absl::Status AddRun() {
    ASSIGN_OR_RETURN(DurableFile file, store_->NewModel("r", 0));
    RETURN_IF_ERROR(file.Append("initial"));
    return store_->AddRun({"r", "config", "begun", 1, 0}, Model(0), std::move(file));
  }

  absl::Status Submit(const std::string& node) {
    const std::string bytes = "update of " + node;
    std::vector<ArrivedUpdate> updates(1);
    updates[0].bytes = bytes;
    return Keep(node, updates);
  }
  // One with a file of its own.
  absl::Status SubmitLarge(const std::string& node) {
    ASSIGN_OR_RETURN(DurableFile file, store_->NewSubmission());
    RETURN_IF_ERROR(file.Append("large update of " + node));
    std::vector<ArrivedUpdate> updates(1);
    updates[0].file.emplace(std::move(file));
    return Keep(node, updates);
  }
  absl::Status Keep(const std::string& node, std::span<ArrivedUpdate> updates) {
    ASSIGN_OR_RETURN(const auto places, store_->Stage("r", updates));
    return store_->AddSubmissions("r", std::vector<SubmissionRecord>{{node, "header", places.front()}});
  }

  absl::Status CommitRound(std::uint32_t round, std::uint32_t keep = 0) {
    ASSIGN_OR_RETURN(DurableFile file, store_->NewModel("r", round));
    RETURN_IF_ERROR(file.Append("model " + std::to_string(round)));
    ASSIGN_OR_RETURN(DurableFile state, store_->NewStrategyState("r", round));
    RETURN_IF_ERROR(state.Append("momentum"));
    return store_->CommitRound("r", "committed " + std::to_string(round), Model(round), std::move(file),
                               std::move(state), {0, 0, round, "line"}, keep);
  }

  absl::Status ReplaceModels(std::uint32_t round) {
    ASSIGN_OR_RETURN(DurableFile file, store_->NewModel("r", round));
    RETURN_IF_ERROR(file.Append("model " + std::to_string(round)));
    return store_->ReplaceModels("r", "replaced", Model(round), std::move(file));
  }

  // Everything visible of the run.
  std::string State() {
    const auto runs = store_->Runs();
    const auto submissions = store_->Submissions("r");
    const auto reader = StoreReader::Open(folder_);
    if (!reader.ok()) return "cannot be opened";
    const auto models = (*reader)->Models("r", 0, 100);
    const auto history = (*reader)->LinesBefore("r", 0, 100);
    if (!runs.ok() || !submissions.ok() || !models.ok() || !history.ok()) return "cannot be read";
    if (runs->empty()) return "no run";
    std::string text = runs->front().document;
    for (const SubmissionRecord& submission : *submissions) {
      text += "; " + submission.node + ": " + Content(submission.file);
    }
    for (const ModelRecord& model : *models) {
      text += "; model: " + Content(model.file);
      if (!model.strategy_state.name.empty()) text += " and " + Content(model.strategy_state);
    }
    for (const HistoryRecord& line : *history) {
      text += "; round " + std::to_string(line.round) + " " + line.document;
    }
    return text;
  }

  std::uint32_t ModelRound() {
    const auto runs = store_->Runs();
    return runs.ok() && !runs->empty() ? runs->front().model_round : UINT32_MAX;
  }

  std::string Content(const FileFacts& file) {
    auto reader = store_->Read(file);
    if (!reader.ok()) return std::string(reader.status().message());
    char buffer[64];
    const auto size = reader->Read(buffer, sizeof buffer);
    return size.ok() ? std::string(buffer, *size) : std::string(size.status().message());
  }

  std::vector<std::string> Files(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/" + folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

}  // namespace tributary::store
