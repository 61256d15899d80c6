#include "aggregator/calibration/calibration_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/calibration/calibration_text.h"
#include "aggregator/fusion/fusion_fixture.h"
#include "core/runtime/captured_log.h"
#include "core/runtime/clock.h"
#include "core/runtime/file.h"
#include "core/runtime/metrics.h"
#include "tests/support/own_folder.h"

namespace tributary::calibration {
namespace {

using fusion::CalibrationMode;
using ::testing::HasSubstr;

// An aggregator's site whose source `east` is 20 cm off, with a file for what the sources learn. Start and
// Keep are a start of the aggregator.
class CalibrationKeeperTest : public fusion::FusionFixture {
 protected:
  CalibrationKeeperTest() {
    std::filesystem::create_directories(folder_);
    site_.max_age_ns.reset();
    site_.max_lead_ns.reset();
    Tuning() = {
        .mode = CalibrationMode::kCorrect, .shift_m = 0.2, .places = {{0, 5}, {5, 0}, {0, -5}, {-5, 0}}};
  }
  ~CalibrationKeeperTest() override { std::filesystem::remove_all(folder_); }

  fusion::CalibrationTuning& Tuning() { return site_.tuning.calibration; }

  void Keep() {
    keeper_.reset();
    Start();
    keeper_ = std::make_unique<CalibrationKeeper>();
    keeper_->Add(*engine_, path_, clock_);
    keeper_->Start();
  }
  // One slot in a tenth of a second; what comes out of the last one.
  std::vector<float> Fuse(int slots) {
    for (int i = 0; i < slots; ++i, epoch_ += 200) {
      out_.Clear();
      SetTime(epoch_, static_cast<std::int64_t>(epoch_ - kEpoch) * site_.slot.ns());
      for (const auto& [name, handle] : handles_) {
        std::vector<float> means;
        for (int user = 0; user < 8; ++user) {
          const double error =
              0.1 * std::sin(7.0 * user + static_cast<double>(epoch_ % 1'013) + name.front());
          means.push_back(static_cast<float>(user + error + (name == "east" ? 0.2 : 0.0)));
        }
        engine_->Offer(handle, Frame(epoch_, means), now_, out_);
      }
    }
    return out_.empty() ? std::vector<float>() : out_[0].means;
  }
  // The shift that corrects `east`, m; 0 until it is learnt.
  double Shift() const {
    const std::optional<fusion::CalibrationRecord> record = engine_->calibration();
    return record ? record->learnt.sources[1].state.correction.shift[0] : 0;
  }
  void Learn() {
    Keep();
    Fuse(300);
    ASSERT_LT(Shift(), -0.1);
    keeper_->Stop();
  }
  bool There(const std::string& ending = "") const { return std::filesystem::exists(path_ + ending); }
  double Counted(const std::string& result) const {
    runtime::Metrics metrics;
    metrics.AddCollector([this](runtime::Reading& reading) { keeper_->Collect(reading); });
    const std::string line = "tributary_calibration_files_total{outcome=\"" + result + "\",site=\"hall\"} ";
    const std::string text = metrics.Text();
    const std::size_t at = text.find(line);
    return at == std::string::npos ? NAN : std::stod(text.substr(at + line.size()));
  }

  const std::string folder_ = OwnFolder() + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/hall.toml";
  const runtime::CapturedLog log_;
  const runtime::ManualClock clock_{site_.slot.StartNs(kEpoch) + 3'600'000'000'000};
  std::unique_ptr<CalibrationKeeper> keeper_;
  estimate::Epoch epoch_ = kEpoch;
};

TEST_F(CalibrationKeeperTest, TheFirstSlotAfterARestartIsCorrected) {
  Learn();
  const double shift = Shift();
  const estimate::Epoch epoch = epoch_;
  const std::vector<float> uninterrupted = Fuse(1);
  epoch_ = epoch;
  Keep();
  EXPECT_EQ(Shift(), shift);
  EXPECT_EQ(Fuse(1), uninterrupted);
  EXPECT_EQ(Counted("restored"), 1);
  EXPECT_THAT(log_.text(), HasSubstr("hall: continues the calibration of 4 sources as it was 3570 s ago"));
}

TEST_F(CalibrationKeeperTest, WritesWhatIsNewAndNothingElse) {
  Keep();
  keeper_->Stop();
  EXPECT_FALSE(There()) << "nothing is learnt yet";
  Learn();
  EXPECT_EQ(Counted("written"), 1);
  EXPECT_TRUE(There());
  Keep();
  keeper_->Stop();
  EXPECT_EQ(Counted("written"), 0);
}

TEST_F(CalibrationKeeperTest, ModeOffForgets) {
  Keep();
  Fuse(300);
  keeper_->Stop();
  keeper_->Start();
  fusion::FusionTuning tuning = site_.tuning;
  tuning.calibration.mode = CalibrationMode::kOff;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  keeper_->UpdateSoon();
  keeper_->Stop();
  EXPECT_FALSE(There());
  EXPECT_THAT(log_.text(), HasSubstr("hall: removed " + path_ + ": its calibration is off"));
  Keep();
  EXPECT_EQ(Shift(), 0) << "a restart with \"correct\" begins anew";
}

TEST_F(CalibrationKeeperTest, AStartWithModeOffForgetsToo) {
  Learn();
  Tuning().mode = CalibrationMode::kOff;
  Keep();
  EXPECT_FALSE(There());
  EXPECT_FALSE(There(".refused"));
}

TEST_F(CalibrationKeeperTest, ObserveAndCorrectShareWhatIsLearnt) {
  Learn();
  const double shift = Shift();
  Tuning().mode = CalibrationMode::kObserve;
  Tuning().window_s = 100;
  Keep();
  EXPECT_EQ(Shift(), shift);
}

TEST_F(CalibrationKeeperTest, SetsAsideWhatIsOfAnotherPlan) {
  Learn();
  Tuning().places[2] = {0, -6};
  Keep();
  EXPECT_EQ(Shift(), 0);
  EXPECT_FALSE(There());
  EXPECT_TRUE(There(".refused"));
  EXPECT_EQ(Counted("refused"), 1);
  EXPECT_THAT(log_.text(), HasSubstr("hall: begins its calibration anew: " + path_ +
                                     ": source[2].place_m: is another place than the plan's; the file is " +
                                     path_ + ".refused now"));
  Fuse(20);
  keeper_->Stop();
  EXPECT_TRUE(There()) << "it learns again";
}

TEST_F(CalibrationKeeperTest, SetsAsideWhatIsOfOtherSources) {
  Learn();
  site_.leaves[0] = "attic";
  handles_.clear();
  Keep();
  EXPECT_EQ(Shift(), 0);
  EXPECT_THAT(log_.text(), HasSubstr("sources: is north, east, south, west, but the site has attic, east"));
}

TEST_F(CalibrationKeeperTest, AHostileFileHarmsNothing) {
  const std::string sound = [this] {
    Learn();
    return *runtime::ReadFile(path_);
  }();
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string body = sound.substr(sound.find('\n') + 1);
    const std::size_t at = body.find("\n" + key + " = ") + key.size() + 4;
    return WithChecksum(body.replace(at, body.find('\n', at) - at, value));
  };
  std::string flood;
  for (int i = 0; i < 3'000; ++i) flood += "[[source]]\nname = 1\n";
  const std::vector<std::pair<std::string, std::string>> hostile = {
      {sound.substr(0, sound.size() / 2), "crc32c"},
      {sound + " ", "crc32c"},
      {WithChecksum(std::string(1'000, '[')), "hall.toml:"},
      {WithChecksum(flood), "expected at most 16 sources, found 3000"},
      {with("scale", "1e9"), "source[0].scale: expected 0.25 to 30"},
      {with("agreed_scale", "0.1"), "source[0].agreed_scale"},
      {with("turn_rad", "nan"), "source[0].turn_rad"},
      {with("shift_m", "5.0"), "shift_m: is 5, but the site has 0.2"},
      {with("observations", "-1.0"), "source[0].observations"},
      {with("normal", "[0.0,"), "normal: expected 78 numbers"},
      {with("site", "\"attic\""), "site: is attic"},
  };
  for (const auto& [text, fault] : hostile) {
    const std::ptrdiff_t lines = log_.lines();
    ASSERT_TRUE(runtime::WriteFileAtomically(path_, text).ok());
    Keep();
    EXPECT_EQ(Counted("refused"), 1) << fault;
    EXPECT_EQ(Shift(), 0) << fault;
    EXPECT_TRUE(There(".refused")) << fault;
    EXPECT_EQ(log_.lines(), lines + 1) << "one line says why";
    EXPECT_THAT(log_.text(), HasSubstr(fault));
    Fuse(1);
    keeper_->Stop();
  }
}

TEST_F(CalibrationKeeperTest, WhatWasNeverACalibrationStaysAsItIs) {
  for (const CalibrationMode mode : {CalibrationMode::kCorrect, CalibrationMode::kOff}) {
    Tuning().mode = mode;
    for (const std::string& text : {std::string("listen = \"127.0.0.1:7400\"\n"),
                                    std::string("\x7f"
                                                "ELF\x02"),
                                    std::string(200'000, ' ')}) {
      ASSERT_TRUE(runtime::WriteFileAtomically(path_, text).ok());
      Keep();
      EXPECT_EQ(Counted("refused"), 1);
      Fuse(20);
      keeper_->Stop();
      EXPECT_EQ(*runtime::ReadFile(path_), text);
      EXPECT_FALSE(There(".refused"));
      EXPECT_THAT(log_.text(), HasSubstr("it stays as it is"));
    }
  }
}

// Whoever opens a pipe waits for its other end.
TEST_F(CalibrationKeeperTest, APipeIsNeitherReadNorWritten) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  Keep();
  Fuse(20);
  keeper_->Stop();
  EXPECT_THAT(log_.text(), HasSubstr("is no regular file; it stays as it is"));
  std::filesystem::remove(path_);
  Keep();
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0) << "while it runs";
  Fuse(20);
  keeper_->Stop();
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(CalibrationKeeperTest, AFileThatCannotBeSetAsideStays) {
  Learn();
  std::string damaged = *runtime::ReadFile(path_);
  damaged += " ";
  ASSERT_TRUE(runtime::WriteFileAtomically(path_, damaged).ok());
  std::filesystem::create_directories(path_ + ".refused/full");
  Keep();
  Fuse(20);
  keeper_->Stop();
  EXPECT_EQ(*runtime::ReadFile(path_), damaged);
}

TEST_F(CalibrationKeeperTest, ADiskThatFailsIsSaidOnceAndCounted) {
  Keep();
  Fuse(10);
  std::filesystem::remove_all(folder_);
  keeper_->Stop();
  EXPECT_EQ(Counted("failed"), 1);
  EXPECT_THAT(log_.text(), HasSubstr("hall: cannot keep its calibration for a restart: " + path_));
  Fuse(10);
  keeper_->Start();
  keeper_->Stop();
  EXPECT_EQ(Counted("failed"), 2);
  std::filesystem::create_directories(folder_);
  Fuse(10);
  keeper_->Start();
  keeper_->Stop();
  EXPECT_TRUE(There());
  EXPECT_THAT(log_.text(), HasSubstr(path_ + " is written again"));
  EXPECT_EQ(Counted("written"), 1);
}

}  // namespace
}  // namespace tributary::calibration
