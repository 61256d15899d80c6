#include "node/retraining/samples_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/own_folder.h"

namespace tributary::retraining {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SamplesFileTest : public ::testing::Test {
 protected:
  SamplesFileTest() : folder_(OwnFolder() + "samples_file_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~SamplesFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return folder_ + "/samples.csv"; }
  void Append(const std::string& text) { std::ofstream(Path(), std::ios::app) << text; }
  std::vector<std::string> Poll(SamplesFile& file) {
    const auto lines = file.Poll();
    EXPECT_TRUE(lines.ok()) << lines.status();
    return lines.value_or(std::vector<std::string>{"failed"});
  }

  const std::string folder_;
};

TEST_F(SamplesFileTest, GivesWhatIsAppendedLineByLine) {
  Append("before\n");
  SamplesFile file(Path());
  EXPECT_THAT(Poll(file), IsEmpty()) << "this was there before";
  Append("one\ntw");
  EXPECT_THAT(Poll(file), ElementsAre("one"));
  EXPECT_THAT(Poll(file), IsEmpty());
  Append("o\n\nthree\n");
  EXPECT_THAT(Poll(file), ElementsAre("two", "", "three"));
}

TEST_F(SamplesFileTest, AFileThatComesLaterIsReadFromItsBeginning) {
  SamplesFile file(Path());
  EXPECT_THAT(Poll(file), IsEmpty());
  Append("one\n");
  EXPECT_THAT(Poll(file), ElementsAre("one"));
}

TEST_F(SamplesFileTest, AFileThatIsReplacedOrCutIsReadFromItsBeginning) {
  SamplesFile file(Path());
  Poll(file);
  Append("one\ntwo\nhal");
  Poll(file);
  std::ofstream(folder_ + "/new") << "three\nfour and more\n";
  std::filesystem::rename(folder_ + "/new", Path());
  EXPECT_THAT(Poll(file), ElementsAre("three", "four and more"));
  std::filesystem::resize_file(Path(), 6);
  EXPECT_THAT(Poll(file), ElementsAre("three"));
  std::filesystem::remove(Path());
  EXPECT_THAT(Poll(file), IsEmpty());
  Append("five\n");
  EXPECT_THAT(Poll(file), ElementsAre("five"));
}

TEST_F(SamplesFileTest, ALineWithoutEndTakesNoMemory) {
  SamplesFile file(Path());
  Poll(file);
  for (int i = 0; i < 10; ++i) {
    Append(std::string(50'000, 'x'));
    EXPECT_THAT(Poll(file), IsEmpty());
  }
  Append("\ngood\n");
  EXPECT_THAT(Poll(file), ElementsAre("", "good")) << "the first one was passed over, and is counted";
}

TEST_F(SamplesFileTest, ReadsALargeFilePieceByPiece) {
  SamplesFile file(Path());
  Poll(file);
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i) + "\n";
  Append(text);
  int next = 0;
  for (std::vector<std::string> lines = Poll(file); !lines.empty(); lines = Poll(file)) {
    for (const std::string& line : lines) ASSERT_EQ(line, std::to_string(next++));
  }
  EXPECT_EQ(next, 50'000);
}

TEST_F(SamplesFileTest, SaysWhatItCannotRead) {
  ASSERT_EQ(mkfifo(Path().c_str(), 0600), 0);
  SamplesFile pipe(Path());
  EXPECT_EQ(pipe.Poll().status().code(), absl::StatusCode::kFailedPrecondition);
  SamplesFile folder(folder_);
  EXPECT_EQ(folder.Poll().status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tributary::retraining
