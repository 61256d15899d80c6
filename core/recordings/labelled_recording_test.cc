#include "core/recordings/labelled_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/parameters/npy.h"
#include "core/radio/modulation.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::recordings {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string RefusedLabels(std::string_view text) {
  const auto labels = ParseLabels(text);
  EXPECT_EQ(labels.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(labels.status().message());
}

TEST(LabelsTest, AreOneNameALine) {
  const auto labels = ParseLabels("QPSK\n am-ssb \r\nBPSK\n\n");
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(*labels, ElementsAre(7, 8, 0));
}

TEST(LabelsTest, KnowEveryModulation) {
  for (std::size_t k = 0; k < radio::kModulations.size(); ++k) {
    const auto labels = ParseLabels(radio::kModulations[k]);
    ASSERT_TRUE(labels.ok()) << labels.status();
    EXPECT_THAT(*labels, ElementsAre(k));
  }
}

TEST(LabelsTest, OfAnEmptyFileAreNone) {
  EXPECT_THAT(*ParseLabels(""), IsEmpty());
  EXPECT_THAT(*ParseLabels(" \n\n"), IsEmpty());
}

TEST(LabelsTest, RefusalsNameTheLine) {
  EXPECT_THAT(RefusedLabels("QPSK\nOFDM\n"), HasSubstr("line 2: \"OFDM\" is none of BPSK, 8PSK"));
  EXPECT_THAT(RefusedLabels("QPSK\n\nBPSK\n"), HasSubstr("line 2: \"\""));
  EXPECT_THAT(RefusedLabels("QPSK,BPSK"), HasSubstr("line 1"));
  EXPECT_THAT(RefusedLabels("7"), HasSubstr("line 1"));
  EXPECT_THAT(RefusedLabels(std::string_view("QPSK\0", 5)), HasSubstr("line 1"));
  EXPECT_LT(RefusedLabels(std::string(100'000, 'x')).size(), 300u);
}

class LabelledRecordingTest : public ::testing::Test {
 protected:
  LabelledRecordingTest() {
    std::vector<float> bursts(2 * 256);
    for (std::size_t i = 0; i < bursts.size(); ++i) bursts[i] = 3.0f + static_cast<float>(i % 7);
    const std::array<std::uint64_t, 3> shape = {2, 2, 128};
    Write("bursts.npy", parameters::EncodeNpy(shape, bursts));
  }

  std::string Path(const std::string& name) const { return OwnFolder() + name; }
  void Write(const std::string& name, const std::string& content) const {
    ASSERT_TRUE(runtime::WriteFileAtomically(Path(name), content).ok());
  }
};

TEST_F(LabelledRecordingTest, ScalesBurstsToUnitPower) {
  Write("labels.txt", "WBFM\nGFSK\n");
  const auto recording = ReadLabelledRecording(Path("bursts.npy"), Path("labels.txt"));
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_THAT(recording->classes, ElementsAre(9, 3));
  for (std::size_t n = 0; n < 2; ++n) {
    double energy = 0;
    for (const float v : std::span(recording->bursts).subspan(n * 256, 256)) energy += double{v} * v;
    EXPECT_NEAR(energy / 128, 1, 1e-5);
  }
}

TEST_F(LabelledRecordingTest, NeedsALabelForEachBurst) {
  Write("labels.txt", "WBFM\n");
  const auto recording = ReadLabelledRecording(Path("bursts.npy"), Path("labels.txt"));
  EXPECT_EQ(recording.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(recording.status().message()), HasSubstr("1 labels for 2 bursts"));
}

TEST_F(LabelledRecordingTest, NamesAFileThatIsNotThere) {
  Write("labels.txt", "WBFM\nGFSK\n");
  EXPECT_THAT(ReadLabelledRecording(Path("none.npy"), Path("labels.txt")).status().ToString(),
              HasSubstr("none.npy"));
  EXPECT_THAT(ReadLabelledRecording(Path("bursts.npy"), Path("none.txt")).status().ToString(),
              HasSubstr("none.txt"));
}

}  // namespace
}  // namespace tributary::recordings
