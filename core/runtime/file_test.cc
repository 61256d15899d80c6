#include "core/runtime/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/own_folder.h"

namespace tributary::runtime {
namespace {

using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tributary_file_test." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
};

TEST_F(FileTest, ReadsBackWhatItWroteAndLeavesNothingBeside) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), content).ok());
  EXPECT_EQ(*ReadFile(Path("f")), content);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, NamesAFileThatIsMissing) {
  const auto content = ReadFile(Path("absent"));
  EXPECT_EQ(content.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(content.status().message()), HasSubstr(Path("absent")));
}

TEST_F(FileTest, AWriteThatFailsNamesTheFileThatWasMeant) {
  const std::string path = Path("no_such_folder/f");
  EXPECT_EQ(std::string(WriteFileAtomically(path, "x").message()).rfind(path + ": cannot create", 0), 0u);
}

TEST_F(FileTest, RefusesADirectoryAndAFileThatIsTooLarge) {
  EXPECT_EQ(ReadFile(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "12345").ok());
  EXPECT_EQ(ReadFile(Path("f"), 4).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(ReadFile(Path("f"), 5).ok());
}

TEST_F(FileTest, AWriteThatFailsLeavesTheOldFile) {
  EXPECT_FALSE(WriteFileAtomically(Path("no/such/folder/f"), "x").ok());
  ASSERT_TRUE(std::filesystem::create_directory(Path("occupied")));
  EXPECT_FALSE(WriteFileAtomically(Path("occupied"), "x").ok());
  EXPECT_TRUE(std::filesystem::is_directory(Path("occupied")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, WritesIntoAPipeInsteadOfReplacingIt) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_TRUE(WriteFileAtomically(pipe, "x").ok());
  char got = 0;
  EXPECT_EQ(read(reader, &got, 1), 1);
  EXPECT_EQ(got, 'x');
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(FileTest, DoesNotWaitForTheWriterOfANamedPipe) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(Path("pipe")).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(FileTest, ReadsAPipeOfTheShell) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "text", 4), 4);
  close(ends[1]);
  EXPECT_EQ(*ReadFile("/dev/fd/" + std::to_string(ends[0])), "text");
  close(ends[0]);
}

TEST_F(FileTest, ReplacesWhatALinkLeadsToAndKeepsTheLink) {
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "old").ok());
  std::filesystem::create_symlink("target", Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(*ReadFile(Path("target")), "new");
}

TEST_F(FileTest, WritesIntoAPipeThatThisProcessHasOpen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[1]);
  EXPECT_TRUE(CheckFolderOf(path).ok());
  EXPECT_TRUE(WriteFileAtomically(path, "x").ok());
  char got = 0;
  EXPECT_EQ(read(ends[0], &got, 1), 1);
  EXPECT_EQ(got, 'x');
  close(ends[0]);
  close(ends[1]);
}

TEST_F(FileTest, ALinkToWhatIsNotThereYetIsFollowed) {
  std::filesystem::create_symlink("target", Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("target")), "new");
}

TEST_F(FileTest, LinksInACircleEnd) {
  std::filesystem::create_symlink("b", Path("a"));
  std::filesystem::create_symlink("a", Path("b"));
  EXPECT_FALSE(WriteFileAtomically(Path("a"), "x").ok());
}

TEST(CheckFolderOfTest, FindsWhatWritingWouldFind) {
  const std::string folder = OwnFolder();
  EXPECT_TRUE(CheckFolderOf(folder + "state").ok());
  EXPECT_EQ(CheckFolderOf(folder + "none/state").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckFolderOf(folder).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(WriteFileAtomically(folder + "file", "x").ok());
  EXPECT_EQ(CheckFolderOf(folder + "file/state").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(CheckFolderOf(folder + "file").ok()) << "it is replaced";
}

TEST(CheckFolderOfTest, FollowsALinkAndTakesADevice) {
  const std::string folder = OwnFolder();
  std::filesystem::create_symlink(folder, folder + "link");
  EXPECT_EQ(CheckFolderOf(folder + "link").code(), absl::StatusCode::kFailedPrecondition) << "to a folder";
  EXPECT_TRUE(CheckFolderOf("/dev/null").ok());
}

}  // namespace
}  // namespace tributary::runtime
