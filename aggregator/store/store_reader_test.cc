#include "aggregator/store/store_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "aggregator/store/store.h"

namespace tributary::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Documents(const absl::StatusOr<std::vector<HistoryRecord>>& lines) {
  std::vector<std::string> documents;
  if (!lines.ok()) return {std::string(lines.status().message())};
  for (const HistoryRecord& each : *lines) documents.push_back(each.document);
  return documents;
}

// A run with four lines of history: 1 and 3 committed, 2 failed, 4 committed.
class StoreReaderTest : public ::testing::Test {
 protected:
  StoreReaderTest() {
    char name[] = "/tmp/store_reader_test.XXXXXX";
    folder_ = std::string(mkdtemp(name)) + "/store";
    store_ = *Store::Open(folder_);
    auto file = *store_->NewModel("r", 0);
    EXPECT_TRUE(store_->AddRun({"r", "config", "begun", 1, 0}, Model(0), std::move(file)).ok());
    Commit(1);
    EXPECT_TRUE(store_->DropSubmissions("r", "state", {0, 0, 2, "failed 2"}).ok());
    Commit(3);
    Commit(4);
    reader_ = *StoreReader::Open(folder_);
  }
  ~StoreReaderTest() override { std::filesystem::remove_all(std::filesystem::path(folder_).parent_path()); }

  static ModelRecord Model(std::uint32_t round) { return {round, std::string(32, 'm'), 1, 10, {}, {}}; }
  void Commit(std::uint32_t round) {
    auto file = *store_->NewModel("r", round);
    const std::string line = "line " + std::to_string(round);
    EXPECT_TRUE(
        store_->CommitRound("r", "state", Model(round), std::move(file), {}, {0, 0, round, line}, 0).ok());
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
};

TEST_F(StoreReaderTest, GivesTheHistoryBackwardsByPages) {
  const auto newest = reader_->LinesBefore("r", 0, 2);
  EXPECT_THAT(Documents(newest), ElementsAre("line 3", "line 4"));
  EXPECT_THAT(Documents(reader_->LinesBefore("r", newest->front().number, 2)),
              ElementsAre("line 1", "failed 2"));
  EXPECT_THAT(Documents(reader_->LinesBefore("nosuch", 0, 2)), IsEmpty());
}

TEST_F(StoreReaderTest, GivesWhatHasChangedSinceARevision) {
  const auto all = reader_->LinesAfter("r", 0, 100);
  ASSERT_THAT(Documents(all), ElementsAre("line 1", "failed 2", "line 3", "line 4"));
  ASSERT_TRUE(store_->AmendHistory("r", 3, "line 3, judged").ok());
  const auto changed = reader_->LinesAfter("r", all->back().revision, 100);
  EXPECT_THAT(Documents(changed), ElementsAre("line 3, judged"));
  EXPECT_THAT(Documents(reader_->LinesAfter("r", changed->back().revision, 100)), IsEmpty());
}

TEST_F(StoreReaderTest, FindsTheLastCommittedAndTheLastEvaluatedLine) {
  EXPECT_EQ(reader_->LastCommitted("r")->front().document, "line 4");
  EXPECT_THAT(Documents(reader_->LastEvaluated("r")), IsEmpty());
  ASSERT_TRUE(store_->AmendHistory("r", 3, "judged").ok());
  EXPECT_EQ(reader_->LastEvaluated("r")->front().document, "judged");
}

TEST_F(StoreReaderTest, GivesModelsFromARoundOn) {
  const auto models = reader_->Models("r", 1, 2);
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ(models->front().round, 1u);
  EXPECT_EQ(models->back().round, 3u);
}

}  // namespace
}  // namespace tributary::store
