#include "cli/backup/node_copy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/certificates/new_certificate.h"
#include "core/link/journal/journal.h"
#include "core/runtime/file.h"
#include "node/learner/learner_state.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Small, so that a test has many segments.
constexpr std::uint64_t kSegmentBytes = 4096;

class NodeCopyTest : public ::testing::Test {
 protected:
  NodeCopyTest() {
    std::filesystem::create_directories(folder_ + "/node/certs");
    const certificates::CertificateAndKey ca = certificates::MakeAuthority(86'400).value();
    const config::Key key = certificates::NewKey();
    const config::Certificate certificate =
        certificates::MakeCertificate({.name = "south"}, *key, 86'400, ca).value();
    Write("node/certs/south.pem", certificates::PemOf(*certificate));
    Write("node/certs/south.key", certificates::PemOf(*key));
    Write("node/certs/ca.pem", certificates::PemOf(*ca.certificate));
    Write("node/learner.state", learner::EncodeLearnerState({"letters", {1, 2, 3}, {}}));
    Configure("node");
  }
  ~NodeCopyTest() override { std::filesystem::remove_all(folder_); }

  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const {
    ASSERT_TRUE(runtime::WriteFileAtomically(At(name), bytes).ok());
  }
  std::string Text(const std::string& name) const { return runtime::ReadFile(At(name)).value_or("(none)"); }
  // A board whose files lie in this folder.
  void Configure(const std::string& board) const {
    Write(board + ".toml",
          fmt::format("node = \"south\"\n[uplink]\nspool_dir = \"{0}/spool\"\n[tls]\ncertificate = "
                      "\"{0}/certs/south.pem\"\nkey = \"{0}/certs/south.key\"\nca = "
                      "\"{0}/certs/ca.pem\"\n[federation]\nimages = \"glyphs\"\nglyphs = 20\nstate = "
                      "\"{0}/learner.state\"\n",
                      board));
  }
  std::unique_ptr<link::Journal> OpenSpool(const std::string& board, std::uint64_t budget = 1 << 20) const {
    std::vector<std::string> notes;
    return link::Journal::Open(*link::OpenJournalFolder(At(board + "/spool")), {{'a'}, budget, kSegmentBytes},
                               notes)
        .value();
  }
  static void Append(link::Journal& spool, int records) {
    for (int i = 0; i < records; ++i) {
      const std::string payload(200, static_cast<char>('a' + i % 26));
      const link::Record record{payload, 4};
      ASSERT_TRUE(spool.Append({&record, 1}).ok());
    }
  }
  absl::StatusOr<CopiedNode> BackUp(const std::string& to = "backup") const {
    return BackUpNode(At("node.toml"), At(to));
  }
  absl::StatusOr<CopiedNode> Restore(const std::string& board) const {
    return RestoreNode(At("backup"), At(board + ".toml"));
  }

  const std::string folder_ = OwnFolder() + "copies";
};

TEST_F(NodeCopyTest, ANewBoardGetsAllThatTheOldOneHad) {
  Append(*OpenSpool("node"), 100);
  const auto made = BackUp();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->parts, ElementsAre("certificate", "learner's state", "spool"));
  EXPECT_EQ(made->frames, 100u);
  EXPECT_EQ(made->tuples, 400u);
  EXPECT_EQ(Text("backup/node.toml"), Text("node.toml"));

  Configure("other");
  std::filesystem::create_directory(At("other"));
  const auto restored = Restore("other");
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->frames, 100u);
  for (const char* file : {"certs/south.pem", "certs/south.key", "certs/ca.pem", "learner.state"}) {
    EXPECT_EQ(Text(std::string("other/") + file), Text(std::string("node/") + file)) << file;
  }
  struct stat facts {};
  ASSERT_EQ(stat(At("other/certs/south.key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_EQ(OpenSpool("other")->counters().stored_records, 100u);
  EXPECT_TRUE(Restore("other").ok()) << "one that broke off is repeated";
}

// The node appends, is acknowledged, and removes what was: each copy is a row of frames without a gap.
TEST_F(NodeCopyTest, CopiesARowOfFramesWhileTheNodeWritesAndRemoves) {
  const std::unique_ptr<link::Journal> spool = OpenSpool("node", 16 * kSegmentBytes);
  Append(*spool, 200);
  std::atomic<bool> stop = false;
  std::jthread node([&] {
    while (!stop) Append(*spool, 50);  // over the budget, so the oldest go
  });
  for (int copy = 0; copy < 20; ++copy) {
    const std::string name = fmt::format("copy-{}", copy);
    const auto made = BackUp(name);
    ASSERT_TRUE(made.ok()) << made.status();
    std::filesystem::create_directories(At(name + "/of"));
    std::filesystem::rename(At(name + "/spool"), At(name + "/of/spool"));
    const link::JournalCounters found = OpenSpool(name + "/of")->counters();
    EXPECT_EQ(found.stored_records, made->frames);
    EXPECT_EQ(found.damaged_records, 0u) << "neither torn nor with a gap";
    EXPECT_EQ(found.set_aside_files, 0u);
  }
  stop = true;
}

TEST_F(NodeCopyTest, RestoreReplacesNothing) {
  Append(*OpenSpool("node"), 30);
  ASSERT_TRUE(BackUp().ok());
  std::filesystem::create_directory(At("other"));
  Configure("other");
  Write("other/learner.state", learner::EncodeLearnerState({"digits", {4}, {}}));
  const std::string mine = Text("other/learner.state");
  const auto refused = Restore("other");
  EXPECT_TRUE(absl::IsAlreadyExists(refused.status())) << refused.status();
  EXPECT_EQ(Text("other/learner.state"), mine);
  EXPECT_FALSE(std::filesystem::exists(At("other/certs"))) << "nothing was written";

  std::filesystem::remove(At("other/learner.state"));
  Append(*OpenSpool("other"), 500);  // another spool
  EXPECT_TRUE(absl::IsAlreadyExists(Restore("other").status()));
}

TEST_F(NodeCopyTest, ABackupOfAnotherNodeIsRefused) {
  ASSERT_TRUE(BackUp().ok());
  Configure("other");
  Write("other.toml", "node = \"west\"" + Text("other.toml").substr(std::string("node = \"south\"").size()));
  std::filesystem::create_directory(At("other"));
  const auto restored = Restore("other");
  EXPECT_TRUE(absl::IsFailedPrecondition(restored.status())) << restored.status();
  EXPECT_THAT(std::string(restored.status().message()), HasSubstr("of the node \"south\""));
  EXPECT_TRUE(std::filesystem::is_empty(At("other")));
}

TEST_F(NodeCopyTest, RestoreWaitsForTheNodeToStop) {
  Append(*OpenSpool("node"), 30);
  ASSERT_TRUE(BackUp().ok());
  std::filesystem::create_directory(At("other"));
  Configure("other");
  const auto running = link::OpenJournalFolder(At("other/spool"));
  const auto refused = Restore("other");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("stop the node first"));
}

TEST_F(NodeCopyTest, ADamagedBackupIsRefusedBeforeAnythingIsWritten) {
  Append(*OpenSpool("node"), 100);
  ASSERT_TRUE(BackUp().ok());
  Configure("other");
  std::filesystem::create_directory(At("other"));
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(At("backup"))) {
    if (entry.is_regular_file()) files.push_back(std::filesystem::relative(entry.path(), folder_).string());
  }
  ASSERT_GT(files.size(), 6u);
  std::mt19937 random(5);
  for (const std::string& file : files) {
    const std::string good = Text(file);
    std::string damaged = good;
    damaged[random() % damaged.size()] ^= 1;
    Write(file, damaged);
    EXPECT_FALSE(Restore("other").ok()) << file;
    Write(file, good);
  }
  EXPECT_TRUE(std::filesystem::is_empty(At("other")));
  Write("backup/SHA256SUMS", std::string(64, '0') + "  ../../etc/passwd\n");
  EXPECT_THAT(std::string(Restore("other").status().message()), HasSubstr("has a line that no backup has"));
}

TEST_F(NodeCopyTest, ADamagedStateOrAPairThatDoesNotFitMakesNoBackup) {
  std::string state = Text("node/learner.state");
  state.back() ^= 1;
  Write("node/learner.state", state);
  EXPECT_TRUE(absl::IsDataLoss(BackUp().status()));
  EXPECT_FALSE(std::filesystem::exists(At("backup")));
  EXPECT_FALSE(std::filesystem::exists(At("backup.partial")));
  std::filesystem::remove(At("node/learner.state"));
  Write("node/certs/south.key", certificates::PemOf(*certificates::NewKey()));
  EXPECT_THAT(std::string(BackUp().status().message()), HasSubstr("is not the key of"));
}

TEST_F(NodeCopyTest, LeavesOutAFileOfAnotherReleaseAndSaysSo) {
  Append(*OpenSpool("node"), 10);
  Write("node/spool/00000000000000000900.spool", "of another release");
  Write("node/spool/letter", "of somebody");
  const auto made = BackUp();
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->notes.size(), 1u);
  EXPECT_THAT(made->notes.front(), HasSubstr("900.spool: left out"));
  EXPECT_FALSE(std::filesystem::exists(At("backup/spool/letter")));
}

TEST_F(NodeCopyTest, ANodeThatKeepsNothingHasNoBackup) {
  Write("node.toml", "node = \"south\"\n[federation]\nimages = \"glyphs\"\nglyphs = 20\n");
  EXPECT_TRUE(absl::IsNotFound(BackUp().status()));
}

}  // namespace
}  // namespace tributary::cli
