#include "aggregator/store/store_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aggregator/store/database.h"
#include "aggregator/store/store_fixture.h"

namespace tributary::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StoreCopyTest : public StoreFixture {
 protected:
  StoreCopyTest() : copy_(fs::path(folder_).parent_path().string() + "/copy") {}

  void Fill() {
    Open();
    ASSERT_TRUE(AddRun().ok());
    ASSERT_TRUE(CommitRound(1).ok());
    for (const char* node : {"a", "b"}) ASSERT_TRUE(Submit(node).ok());
    ASSERT_TRUE(SubmitLarge("c").ok());
  }
  // What a store in that folder says.
  std::string StateOf(std::string folder) {
    const std::string own = std::exchange(folder_, std::move(folder));
    Open();
    std::string state = State();
    EXPECT_TRUE(store_ == nullptr || store_->orphans().empty());
    store_.reset();
    folder_ = own;
    return state;
  }
  std::string FaultOf(const std::string& from, const std::string& to) {
    const auto copied = CopyStore(from, to);
    return copied.ok() ? "" : std::string(copied.status().message());
  }
  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  std::string copy_;
};

TEST_F(StoreCopyTest, IsAStoreWithTheSameStateWhileTheOriginalIsInUse) {
  Fill();
  const std::string state = State();
  std::size_t done = 0, all = 0;
  const auto copied = CopyStore(folder_, copy_ + "/", [&](std::size_t now, std::size_t of) {
    EXPECT_EQ(now, ++done);
    all = of;
  });
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->runs, 1u);
  EXPECT_EQ(copied->files, 5u);  // two models, a strategy's state, a log of two updates, a large one
  EXPECT_EQ(done, 5u);
  EXPECT_EQ(all, 5u);
  EXPECT_FALSE(fs::exists(copy_ + ".partial"));
  EXPECT_EQ(fs::status(copy_).permissions(), fs::perms::owner_all);
  ASSERT_TRUE(Submit("d").ok()) << "the original goes on";
  store_.reset();
  EXPECT_EQ(StateOf(copy_), state);
  // And back.
  fs::remove_all(folder_);
  ASSERT_TRUE(CopyStore(copy_, folder_).ok());
  EXPECT_EQ(StateOf(folder_), state);
}

TEST_F(StoreCopyTest, IsOfOneMomentWhileRoundsEnd) {
  Fill();
  std::atomic<bool> over = false;
  std::atomic<std::uint32_t> rounds = 1;
  absl::Status kept;
  std::jthread aggregator([&] {
    while (!over && kept.ok()) {
      kept = CommitRound(rounds + 1, 1);
      for (const char* node : {"a", "b"}) kept.Update(Submit(node));
      ++rounds;
    }
    over = true;
  });
  std::vector<std::string> copies;
  absl::Status copied;
  for (int i = 0; i < 5 && copied.ok(); ++i) {
    const std::uint32_t before = rounds;
    copies.push_back(copy_ + std::to_string(i));
    copied = CopyStore(folder_, copies.back()).status();
    while (!over && rounds < before + 2) std::this_thread::yield();
  }
  over = true;
  aggregator.join();
  ASSERT_TRUE(copied.ok()) << copied;
  ASSERT_TRUE(kept.ok()) << kept;
  store_.reset();
  for (const std::string& each : copies) {
    const std::string state = StateOf(each);
    EXPECT_THAT(state, HasSubstr("committed "));
    EXPECT_THAT(state, HasSubstr("model: initial"));
    EXPECT_EQ(state.find("cannot"), std::string::npos) << state;
    EXPECT_EQ(state.find("missing"), std::string::npos) << state;
  }
}

TEST_F(StoreCopyTest, ReplacesNothing) {
  Fill();
  fs::create_directory(copy_);
  ASSERT_TRUE(CopyStore(folder_, copy_).ok()) << "an empty folder";
  EXPECT_THAT(FaultOf(folder_, copy_), HasSubstr("is there already"));
  Write(copy_ + ".file", "mine");
  EXPECT_THAT(FaultOf(folder_, copy_ + ".file"), HasSubstr("is there already"));
  fs::create_directory_symlink("/nowhere", copy_ + ".link");
  EXPECT_THAT(FaultOf(folder_, copy_ + ".link"), HasSubstr("is there already"));
  EXPECT_NE(FaultOf(folder_, copy_ + "/no/such/parent"), "");
  EXPECT_THAT(FaultOf(copy_ + ".none", copy_ + "2"), HasSubstr("is no store"));
  fs::create_directory(copy_ + "2.partial");
  Write(copy_ + "2.partial/letters.txt", "mine");
  EXPECT_THAT(FaultOf(folder_, copy_ + "2"), HasSubstr("letters.txt"));
  EXPECT_TRUE(fs::exists(copy_ + "2.partial/letters.txt"));
}

TEST_F(StoreCopyTest, BeginsAnewAfterAnInterruptedOne) {
  Fill();
  fs::create_directories(copy_ + ".partial/models");
  Write(copy_ + ".partial/models/r.9.safetensors.tmp", "half");
  Write(copy_ + ".partial/tributary.db", "half");
  ASSERT_TRUE(CopyStore(folder_, copy_).ok());
  const std::string state = State();
  store_.reset();
  EXPECT_EQ(StateOf(copy_), state);
}

TEST_F(StoreCopyTest, LeavesNothingOfADamagedStore) {
  Fill();
  store_.reset();
  const std::string model = folder_ + "/models/r.1.safetensors";
  const auto fault = [&] {
    std::string said = FaultOf(folder_, copy_);
    EXPECT_FALSE(fs::exists(copy_));
    EXPECT_FALSE(fs::exists(copy_ + ".partial"));
    return said;
  };
  Write(model, "model 2");
  EXPECT_THAT(fault(), HasSubstr("r.1.safetensors: is damaged"));
  Write(model, "mod");
  EXPECT_THAT(fault(), HasSubstr("is shorter"));
  fs::remove(model);
  EXPECT_THAT(fault(), HasSubstr("is missing"));
  fs::create_symlink("/etc/passwd", model);
  EXPECT_NE(fault(), "");
  Write(folder_ + "/tributary.db", std::string(8192, 'x'));
  EXPECT_NE(fault(), "");
}

TEST_F(StoreCopyTest, SaysThatAnotherReleaseWroteTheStore) {
  Fill();
  store_.reset();
  {
    auto database = Database::Open(folder_ + "/tributary.db");
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->Execute("UPDATE schema_version SET version = 99").ok());
  }
  EXPECT_THAT(FaultOf(folder_, copy_), HasSubstr("format 99"));
  EXPECT_FALSE(fs::exists(copy_));
}

TEST_F(StoreCopyTest, NamesThatLeaveTheStoreAreRefused) {
  Fill();
  store_.reset();
  Write(folder_ + "/../outside", "secret!");
  {
    auto database = Database::Open(folder_ + "/tributary.db");
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->Execute("UPDATE model SET file = 'models/../../outside' WHERE round = 1").ok());
  }
  EXPECT_THAT(FaultOf(folder_, copy_), HasSubstr("is no name of a store's file"));
  EXPECT_FALSE(fs::exists(copy_));
}

}  // namespace
}  // namespace tributary::store
