#include "aggregator/store/store_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_folder.h"

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

TEST_F(StoreReaderTest, FindsTheNewestModelOfADigestAmongAllRuns) {
  const auto place = [this](const std::string& sha256) {
    const auto found = reader_->NewestModel(sha256);
    if (!found.ok()) return std::string(found.status().message());
    return *found ? (*found)->run + " " + std::to_string((*found)->model.round) : std::string("none");
  };
  ModelRecord later = Model(0);
  later.created_unix_ns = 11;
  auto file = *store_->NewModel("s", 0);
  ASSERT_TRUE(store_->AddRun({"s", "config", "begun", 1, 0}, later, std::move(file)).ok());
  EXPECT_EQ(place(later.sha256), "s 0");
  ASSERT_TRUE(store_->DeleteRun("s").ok());
  EXPECT_THAT(place(later.sha256), ::testing::StartsWith("r "));
  EXPECT_EQ(place(std::string(32, 'n')), "none");
  EXPECT_EQ(place(""), "none");
}

TEST_F(StoreReaderTest, AStoreOfAnEarlierReleaseGetsTheIndexOfDigests) {
  const auto indexed = [this] {
    auto database = *Database::OpenToRead(folder_ + "/" + std::string(kDatabase));
    const auto plan = *database.Query([](const Row& row) { return row.Bytes(3); },
                                      "EXPLAIN QUERY PLAN SELECT run FROM model WHERE sha256 = x'00' "
                                      "ORDER BY created_unix_ns DESC LIMIT 1");
    return plan.size() == 1 && plan[0].find("model_of_digest") != std::string::npos;
  };
  EXPECT_TRUE(indexed());
  reader_.reset();
  store_.reset();
  ASSERT_TRUE(
      Database::Open(folder_ + "/" + std::string(kDatabase))->Execute("DROP INDEX model_of_digest").ok());
  ASSERT_FALSE(indexed());
  store_ = *Store::Open(folder_);
  EXPECT_TRUE(indexed());
}

}  // namespace
}  // namespace tributary::store
