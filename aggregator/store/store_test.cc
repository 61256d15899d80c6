#include "aggregator/store/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "aggregator/store/store_fixture.h"
#include "aggregator/store/store_reader.h"

namespace tributary::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StoreTest : public StoreFixture {};

TEST_F(StoreTest, KeepsARunThroughARestart) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(Submit("a").ok());
  Open();
  EXPECT_EQ(State(), "begun; a: update of a; model: initial");
  ASSERT_TRUE(Submit("b").ok());
  ASSERT_TRUE(CommitRound(1).ok());
  Open();
  EXPECT_EQ(State(), "committed 1; model: initial; model: model 1 and momentum; round 1 line");
  EXPECT_EQ(ModelRound(), 1u);
  EXPECT_THAT(Files("submissions"), IsEmpty());
}

TEST_F(StoreTest, DeletesARunOnAFullDiskWithTheSpaceThatItReserved) {
  const auto reserve = [this] { return folder_ + "/reserve"; };
  Open();
  ASSERT_TRUE(AddRun().ok());
  EXPECT_EQ(std::filesystem::file_size(reserve()), 1u << 20);
  Open([&reserve](StoreStep step) {
    const bool full = step == StoreStep::kCommit && std::filesystem::exists(reserve());
    return full ? absl::ResourceExhaustedError("no space left on device") : absl::OkStatus();
  });
  EXPECT_EQ(store_->SaveDocument("r", "grown").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->DeleteRun("r"), absl::OkStatus());
  EXPECT_THAT(Files("models"), IsEmpty());
  EXPECT_EQ(std::filesystem::file_size(reserve()), 1u << 20) << "for the next one";
}

TEST_F(StoreTest, ADeletionNeedsLessSpaceThanTheReserve) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  for (std::uint32_t round = 1; round <= 30; ++round) {
    ASSERT_TRUE(store_->DropSubmissions("r", "dropped", {0, 0, round, std::string(100'000, 'x')}).ok());
  }
  Open();  // begins another log of the database
  ASSERT_TRUE(store_->DeleteRun("r").ok());
  EXPECT_LT(std::filesystem::file_size(folder_ + "/tributary.db-wal"), 1u << 19);
}

TEST_F(StoreTest, MakesUpdatesThatArriveTogetherDurableByOneSync) {
  int syncs = 0;
  int commits = 0;
  Open([&](StoreStep step) {
    syncs += step == StoreStep::kSyncFile;
    commits += step == StoreStep::kCommit;
    return absl::OkStatus();
  });
  ASSERT_TRUE(AddRun().ok());
  syncs = commits = 0;
  std::vector<ArrivedUpdate> updates(3);
  for (ArrivedUpdate& each : updates) each.bytes = "update";
  const auto places = store_->Stage("r", updates);
  ASSERT_TRUE(places.ok()) << places.status();
  std::vector<SubmissionRecord> records;
  for (const FileFacts& place : *places)
    records.push_back({"n" + std::to_string(records.size()), "header", place});
  ASSERT_TRUE(store_->AddSubmissions("r", records).ok());
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(commits, 1);
  Open();
  EXPECT_EQ(State(), "begun; n0: update; n1: update; n2: update; model: initial");
}

TEST_F(StoreTest, KeepsLargeUpdatesInFilesOfTheirOwn) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(Submit("a").ok());
  ASSERT_TRUE(SubmitLarge("b").ok());
  EXPECT_EQ(Files("submissions").size(), 2u);
  Open();
  EXPECT_EQ(State(), "begun; a: update of a; b: large update of b; model: initial");
  ASSERT_TRUE(Submit("c").ok()) << "a log of before the restart is not written to again";
  Open();
  EXPECT_EQ(State(), "begun; a: update of a; b: large update of b; c: update of c; model: initial");
}

// A failure before the rules have seen the update is only a reason to retry.
TEST_F(StoreTest, StagesTheNextBatchWhereAFailedOneBegan) {
  bool full = false;
  Open([&](StoreStep step) {
    return full && step == StoreStep::kSyncFile ? absl::ResourceExhaustedError("no space left")
                                                : absl::OkStatus();
  });
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(Submit("a").ok());
  full = true;
  EXPECT_EQ(Submit("b").code(), absl::StatusCode::kResourceExhausted);
  full = false;
  ASSERT_TRUE(Submit("c").ok());
  Open();
  EXPECT_EQ(State(), "begun; a: update of a; c: update of c; model: initial");
}

TEST_F(StoreTest, TakesARunsNameOnce) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  EXPECT_EQ(AddRun().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(State(), "begun; model: initial");
}

TEST_F(StoreTest, ForgetsADeletedRunWithItsFiles) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(Submit("ash").ok());
  ASSERT_TRUE(SubmitLarge("birch").ok());
  ASSERT_TRUE(CommitRound(1).ok());
  ASSERT_TRUE(Submit("cedar").ok());
  ASSERT_TRUE(store_->DeleteRun("r").ok());
  for (const char* folder : {"/models", "/submissions"}) {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ + folder)) << folder;
  }
  EXPECT_EQ(store_->DeleteRun("r").code(), absl::StatusCode::kNotFound);
  Open();
  EXPECT_THAT(*store_->Runs(), IsEmpty());
  EXPECT_TRUE(store_->orphans().empty());
  EXPECT_TRUE(AddRun().ok()) << "its name is free";
  EXPECT_TRUE(Submit("ash").ok());
}

TEST_F(StoreTest, RemovesModelsBeyondThoseToKeepButNotTheInitialOne) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  for (std::uint32_t round = 1; round <= 4; ++round) ASSERT_TRUE(CommitRound(round, 2).ok());
  EXPECT_THAT(Files("models"),
              ElementsAre("r.0.safetensors", "r.3.safetensors", "r.3.state", "r.4.safetensors", "r.4.state"));
}

TEST_F(StoreTest, ReplacesAllModelsByOne) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(CommitRound(1).ok());
  ASSERT_TRUE(Submit("a").ok());
  ASSERT_TRUE(ReplaceModels(7).ok());
  EXPECT_EQ(State(), "replaced; a: update of a; model: model 7; round 1 line");
  EXPECT_EQ(ModelRound(), 7u);
  EXPECT_THAT(Files("models"), ElementsAre("r.7.safetensors"));
}

TEST_F(StoreTest, RollsBackToAModelThatItHas) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(CommitRound(1).ok());
  ASSERT_TRUE(Submit("a").ok());
  EXPECT_EQ(store_->RollBack("r", 7, "x", {0, 0, 7, "x"}).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_->RollBack("r", 0, "back", {0, 0, 0, "to 0"}).ok());
  EXPECT_EQ(ModelRound(), 0u);
  EXPECT_THAT(State(), HasSubstr("back; model: initial"));
}

TEST_F(StoreTest, AmendsTheLineOfACommittedRoundOnly) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(store_->DropSubmissions("r", "failed", {0, 0, 1, "missed"}).ok());
  ASSERT_TRUE(CommitRound(2).ok());
  ASSERT_TRUE(store_->AmendHistory("r", 1, "judged").ok());
  ASSERT_TRUE(store_->AmendHistory("r", 2, "judged").ok());
  EXPECT_THAT(State(), HasSubstr("round 1 missed; round 2 judged"));
}

TEST_F(StoreTest, SaysThatAFileIsNoFolder) {
  std::ofstream(folder_) << "a file";
  const absl::Status status = Store::Open(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), folder_ + ": is a file, expected a folder");
}

TEST_F(StoreTest, NamesTheFileThatItCannotCreate) {
  Open();
  std::filesystem::remove_all(folder_ + "/models");
  const auto file = store_->NewModel("r", 7);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(file.status().message()),
              ::testing::StartsWith(folder_ + "/models/r.7.safetensors: cannot create"));
}

TEST_F(StoreTest, StopsASecondProcessOnTheSameStore) {
  Open();
  // flock is per open file: a second Open in this process is refused, as in another process.
  const auto second = Store::Open(folder_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("in use by another aggregator (process " + std::to_string(getpid())));
}

TEST_F(StoreTest, StopsOnADamagedDatabaseAndLeavesIt) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  store_.reset();
  const std::string path = folder_ + "/tributary.db";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.write("not a database, certainly", 25);
  }
  const auto before = std::filesystem::last_write_time(path);
  const absl::Status damaged = Store::Open(folder_).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("move the store away and restore a backup"));
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
}

TEST_F(StoreTest, StopsOnAFileThatIsMissingOrShort) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  store_.reset();
  std::filesystem::resize_file(folder_ + "/models/r.0.safetensors", 3);
  EXPECT_EQ(Store::Open(folder_).status().code(), absl::StatusCode::kDataLoss);
  std::filesystem::remove(folder_ + "/models/r.0.safetensors");
  const auto missing = Store::Open(folder_);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("r.0.safetensors: is missing"));
}

TEST_F(StoreTest, ReadsAFileFromWhereItIsWanted) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  auto reader = store_->Read(store_->Model("r", 0)->file);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE(reader->Skip(2).ok());
  std::string rest(20, '?');
  EXPECT_EQ(*reader->Read(rest.data(), rest.size()), 5u);
  EXPECT_EQ(rest.substr(0, 5), "itial");
  EXPECT_EQ(reader->remaining(), 0u);
}

TEST_F(StoreTest, NoticesAFileWhoseContentChanged) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  std::ofstream(folder_ + "/models/r.0.safetensors", std::ios::binary) << "initiaL";
  EXPECT_THAT(State(), HasSubstr("does not match its checksum"));
}

TEST_F(StoreTest, StopsOnTablesOfANewerVersion) {
  Open();
  store_.reset();
  ASSERT_TRUE(
      Database::Open(folder_ + "/tributary.db")->Execute("UPDATE schema_version SET version = 99").ok());
  EXPECT_EQ(Store::Open(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tributary::store
