#include "aggregator/store/store_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "aggregator/store/store.h"

namespace tributary::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StoreFolderTest : public ::testing::Test {
 protected:
  StoreFolderTest() {
    char name[] = "/tmp/store_folder_test.XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~StoreFolderTest() override { fs::remove_all(folder_); }

  void Put(const std::string& name, const std::string& text = "precious") {
    fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string Read(const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The check before a start and the start itself say the same.
  std::string Refusal() {
    const absl::Status check = Store::Check(folder_), open = Store::Open(folder_).status();
    EXPECT_EQ(check, open);
    EXPECT_EQ(open.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(open.message());
  }
  std::vector<std::string> Orphans() {
    const auto store = Store::Open(folder_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? (*store)->orphans() : std::vector<std::string>{};
  }

  std::string folder_;
};

TEST_F(StoreFolderTest, TakesAnEmptyFolderForThisUserOnly) {
  EXPECT_THAT(Orphans(), IsEmpty());
  EXPECT_EQ(fs::status(folder_ + "/models").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder_ + "/lock").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(Orphans(), IsEmpty()) << "and takes it again";
}

TEST_F(StoreFolderTest, TouchesNothingInAFolderThatIsNoStore) {
  Put("models/positioning.safetensors");
  Put("README.md");
  EXPECT_THAT(Refusal(), HasSubstr("nothing was changed"));
  EXPECT_EQ(Read("models/positioning.safetensors"), "precious");
  EXPECT_FALSE(fs::exists(folder_ + "/lock"));
  EXPECT_FALSE(fs::exists(folder_ + "/submissions"));
}

TEST_F(StoreFolderTest, DoesNotTakeAStoreThatHasLostItsDatabaseForAnEmptyOne) {
  Orphans();
  Put("models/letters.3.safetensors");
  fs::remove(folder_ + "/tributary.db");
  EXPECT_THAT(Refusal(), HasSubstr("has files in models but tributary.db is missing or empty"));
  EXPECT_EQ(Read("models/letters.3.safetensors"), "precious");
}

TEST_F(StoreFolderTest, DoesNotTakeAStoreWithAnEmptyDatabaseForANewOne) {
  for (const bool has_pages : {false, true}) {
    fs::remove(folder_ + "/tributary.db");
    if (has_pages) {
      ASSERT_TRUE(Database::Open(folder_ + "/tributary.db").ok());
    } else {
      Put("tributary.db", "");
    }
    Put("models/letters.3.safetensors");
    Put("submissions/17");
    EXPECT_THAT(Refusal(), HasSubstr("tributary.db is missing or empty"));
    EXPECT_EQ(Read("models/letters.3.safetensors"), "precious");
    EXPECT_EQ(Read("submissions/17"), "precious");
  }
}

TEST_F(StoreFolderTest, TakesAFolderWhoseFirstStartWasCutShort) {
  Put("lock", "");
  fs::create_directory(folder_ + "/models");
  EXPECT_THAT(Orphans(), IsEmpty());
}

TEST_F(StoreFolderTest, MovesAsideAndNamesWhatNoRunHas) {
  Orphans();
  Put("models/mine.safetensors");
  Put("submissions/notes.txt");
  EXPECT_THAT(Orphans(), ElementsAre("models/mine.safetensors", "submissions/notes.txt"));
  EXPECT_EQ(Read("orphaned/mine.safetensors"), "precious");
  EXPECT_EQ(Read("orphaned/notes.txt"), "precious");
  EXPECT_THAT(Orphans(), IsEmpty());
}

TEST_F(StoreFolderTest, RemovesWhatACrashLeft) {
  Orphans();
  Put("submissions/17");
  Put("submissions/18.log");
  Put("submissions/19.tmp");
  Put("models/letters.3.safetensors.tmp");
  EXPECT_THAT(Orphans(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(folder_ + "/submissions"));
  EXPECT_TRUE(fs::is_empty(folder_ + "/models"));
}

TEST_F(StoreFolderTest, LeavesADatabaseOfAnotherProgram) {
  ASSERT_TRUE(Database::Open(folder_ + "/tributary.db")->Execute("CREATE TABLE theirs (a)").ok());
  EXPECT_THAT(Refusal(), HasSubstr("no store's"));
}

TEST_F(StoreFolderTest, TheCheckFindsTheDamageThatAStartFinds) {
  Orphans();
  ASSERT_TRUE(
      Database::Open(folder_ + "/tributary.db")->Execute("UPDATE schema_version SET version = 99").ok());
  EXPECT_THAT(Refusal(), HasSubstr("format 99"));
  Put("tributary.db", std::string(8192, 'x'));
  EXPECT_TRUE(absl::IsDataLoss(Store::Check(folder_)));
  EXPECT_EQ(Store::Check(folder_), Store::Open(folder_).status());
}

TEST_F(StoreFolderTest, TheCheckAddsNoFileAndReadsAStoreInUse) {
  Orphans();
  fs::remove_all(folder_ + "/lock");
  EXPECT_TRUE(Store::Check(folder_).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/tributary.db-wal"));
  EXPECT_FALSE(fs::exists(folder_ + "/lock"));
  const auto open = Store::Open(folder_);
  EXPECT_TRUE(Store::Check(folder_).ok()) << Store::Check(folder_);
}

TEST_F(StoreFolderTest, TheCheckLeavesTheFilesOfAStoreInUseToItsAggregator) {
  auto open = Store::Open(folder_);
  ASSERT_TRUE(open.ok());
  const char* const rows =
      "INSERT INTO run VALUES ('r', '', x'', 0, 0);"
      "INSERT INTO submission VALUES (1, 'r', 'a', x'', 'submissions/1.log', 4, 0, 0)";
  ASSERT_TRUE(Database::Open(folder_ + "/tributary.db")->Execute(rows).ok());
  EXPECT_TRUE(Store::Check(folder_).ok()) << Store::Check(folder_);
  open->reset();
  EXPECT_THAT(std::string(Store::Check(folder_).message()), HasSubstr("is missing from the store"));
}

}  // namespace
}  // namespace tributary::store
