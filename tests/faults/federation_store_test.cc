// A store that is damaged or in use by another aggregator: the daemon names the file and does not change it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <ostream>

#include "core/runtime/process.h"
#include "tests/faults/federation_small_run.h"

namespace tributary::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(20);

TEST(SharedStoreTest, ASecondAggregatorEndsAndSaysWhoHasTheStore) {
  const ScratchFolder folder;
  AggregatorProcess first(folder, "first", {"south"}, FederationKeys(folder));
  first.Start();
  ASSERT_TRUE(first.Ready()) << first.process().Log();
  AggregatorProcess second(folder, "second", {"south"}, FederationKeys(folder));
  second.Start();
  EXPECT_EQ(second.process().Wait(kPatience), runtime::kExitFailure);
  EXPECT_THAT(second.process().Log(),
              AllOf(HasSubstr(folder.Path("store")), HasSubstr("in use by another aggregator"),
                    HasSubstr(std::to_string(first.process().pid()))));
  EXPECT_TRUE(first.Ready());
}

// The change to one file of the store.
struct Damage {
  const char* name;
  const char* file;  // in the store; a folder stands for its first file
  std::function<void(std::string& content)> inflict;
};
void PrintTo(const Damage& shown, std::ostream* out) { *out << shown.name; }

class DamagedStoreTest : public ::testing::TestWithParam<Damage> {
 protected:
  // Stops in the middle of a round, with two of three updates accepted.
  void SetUp() override {
    ASSERT_TRUE(WaitFor([this] { return run_.CommittedRounds() >= 1; }, kPatience));
    ASSERT_TRUE(run_.HoldARound()) << run_.Show();
    run_.aggregator().process().Signal(SIGTERM);
    ASSERT_EQ(run_.aggregator().process().Wait(kPatience), runtime::kExitOk);
  }

  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const char* part : {"models", "submissions", "tributary.db"}) {
      const std::string path = run_.StorePath(part);
      if (!std::filesystem::is_directory(path)) {
        files[path] = ReadText(path);
        continue;
      }
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        files[entry.path()] = ReadText(entry.path());
      }
    }
    return files;
  }
  std::string DamagedFile() const {
    const std::filesystem::path path = run_.StorePath(GetParam().file);
    return std::filesystem::is_directory(path) ? std::filesystem::directory_iterator(path)->path() : path;
  }

  SmallRun run_;
};

TEST_P(DamagedStoreTest, EndsNamesTheFileAndOverwritesNothing) {
  const std::string file = DamagedFile();
  const std::string whole = ReadText(file);
  std::string damaged = whole;
  GetParam().inflict(damaged);
  ASSERT_NE(damaged, whole);
  std::ofstream(file, std::ios::binary) << damaged;
  const auto before = Files();

  run_.StartAggregator();
  EXPECT_EQ(run_.aggregator().process().Wait(kPatience), runtime::kExitData);
  EXPECT_THAT(run_.aggregator().process().Log(), HasSubstr(file));
  EXPECT_EQ(Files(), before);

  // Restored from a copy, the run continues.
  std::ofstream(file, std::ios::binary) << whole;
  run_.StartAggregator();
  run_.GoOn();
  EXPECT_EQ(run_.Finish(), QuietResult());
}

void FlipAByte(std::string& content) { content[content.size() / 2] ^= 1; }
void CutInHalf(std::string& content) { content.resize(content.size() / 2); }
void Overwrite(std::string& content) { content.replace(0, 16, "not a database!!"); }

INSTANTIATE_TEST_SUITE_P(Files, DamagedStoreTest,
                         ::testing::Values(Damage{"Database", "tributary.db", Overwrite},
                                           Damage{"ShortInitialModel", "models/r.0.safetensors", CutInHalf},
                                           Damage{"ChangedUpdate", "submissions", FlipAByte}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tributary::testing
