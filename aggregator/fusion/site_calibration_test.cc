#include "aggregator/fusion/site_calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

using ::testing::HasSubstr;

// A site of the ordinary rate whose panels see the same eight users; `east` is 20 cm off.
class SiteCalibrationTest : public FusionFixture {
 protected:
  static constexpr estimate::Epoch kLook = 200;  // slots

  void StartWith(CalibrationMode mode) {
    site_.tuning.calibration = {.mode = mode, .shift_m = 0.2, .places = {{0, 5}, {5, 0}, {0, -5}, {-5, 0}}};
    site_.max_age_ns.reset();
    site_.max_lead_ns.reset();
    Start();
  }

  // What the last slot says of its first user, along x.
  double Deviation() const { return out_[0].cholesky[0]; }

  // One slot in a tenth of a second; returns the mean x of the first user.
  double Fuse(int slots) {
    double x = 0;
    for (int i = 0; i < slots; ++i, epoch_ += kLook) {
      out_.Clear();
      SetTime(epoch_, static_cast<std::int64_t>(epoch_ - kEpoch) * site_.slot.ns());
      for (const auto& [name, handle] : handles_) {
        std::vector<float> means;
        for (int user = 0; user < 8; ++user) {
          means.push_back(
              static_cast<float>(user - 4 + 0.1 * normal_(random_) + (name == "east" ? 0.2 : 0.0)));
        }
        engine_->Offer(handle, Frame(epoch_, means), now_, out_);
      }
      EXPECT_EQ(out_.size(), 1u);
      if (!out_.empty()) x = out_[0].means[0];
      mean_ = 0.95 * mean_ + 0.05 * x;
    }
    return mean_;
  }
  LeafCalibration Of(const std::string& name) {
    for (const SourceStatus& source : engine_->sources()) {
      if (source.name == name && source.calibration) return *source.calibration;
    }
    ADD_FAILURE() << name << " is not calibrated";
    return {};
  }

  // The same site in another process, which goes on with what this one has learnt.
  void Restart() {
    const std::optional<CalibrationRecord> record = engine_->calibration();
    ASSERT_TRUE(record.has_value());
    Start();
    ASSERT_TRUE(engine_->RestoreCalibration(*record).ok());
  }
  // What a restart with a changed record says.
  std::string Refused(const std::function<void(CalibrationRecord&)>& change) {
    std::optional<CalibrationRecord> record = engine_->calibration();
    EXPECT_TRUE(record.has_value());
    change(*record);
    Start();
    const absl::Status status = engine_->RestoreCalibration(*record);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(engine_->calibration().has_value());
    Fuse(1);
    return std::string(status.message());
  }

  estimate::Epoch epoch_ = kEpoch;
  double mean_ = -4;
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
};

TEST_F(SiteCalibrationTest, CorrectsASourceThatIsOff) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(600);
  const LeafCalibration east = Of("east"), north = Of("north");
  EXPECT_TRUE(east.corrected);
  // They must come together: what all four share is not observable.
  EXPECT_NEAR(north.shift_m[0] - east.shift_m[0], 0.2, 0.04);
  EXPECT_GT(east.observations, 1000);
}

TEST_F(SiteCalibrationTest, AFusedTupleCarriesTheShiftThatAllMayHaveInCommon) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(600);
  const double corrected = Deviation();
  FusionTuning tuning = site_.tuning;
  tuning.calibration.mode = CalibrationMode::kObserve;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  Fuse(1);
  const double claimed = 2 * Deviation();  // of each of four tuples
  double information = 0, sum = 0, squares = 0;
  for (const auto& [name, handle] : handles_) {
    const LeafCalibration leaf = Of(name);
    information += 1 / std::pow(leaf.scale * claimed, 2);
    sum += leaf.shift_m[0];
    squares += std::pow(leaf.shift_m[0], 2) + std::pow(leaf.shift_m[1], 2);
  }
  const double apart = (squares - sum * sum / 4) / 6;
  EXPECT_NEAR(apart, 0.005, 0.001) << "one of four is off by 20 cm along one axis";
  EXPECT_NEAR(corrected * corrected, 1 / information + apart / 4, 0.02 * corrected * corrected);
}

TEST_F(SiteCalibrationTest, ObservesWithoutChangingWhatIsFused) {
  StartWith(CalibrationMode::kObserve);
  Fuse(300);
  EXPECT_FALSE(Of("east").corrected);
  EXPECT_LT(Of("east").shift_m[0], -0.01);
  // Four tuples of equal weight, one of them 0.2 off.
  EXPECT_NEAR(Fuse(200), -4 + 0.05, 0.05);
}

TEST_F(SiteCalibrationTest, SaysNothingWhenItIsOff) {
  StartWith(CalibrationMode::kOff);
  Fuse(20);
  for (const SourceStatus& source : engine_->sources()) EXPECT_FALSE(source.calibration.has_value());
}

TEST_F(SiteCalibrationTest, BeginsAnewAfterItWasOff) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(200);
  FusionTuning tuning = site_.tuning;
  tuning.calibration.mode = CalibrationMode::kOff;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  EXPECT_NEAR(Fuse(200), -4 + 0.05, 0.05);
  tuning.calibration.mode = CalibrationMode::kObserve;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  EXPECT_EQ(Of("east").observations, 0);
}

TEST_F(SiteCalibrationTest, KeepsWhatItHasLearntThroughAnotherReload) {
  StartWith(CalibrationMode::kObserve);
  Fuse(200);
  const LeafCalibration before = Of("east");
  FusionTuning tuning = site_.tuning;
  tuning.gate_probability = 0.999;
  tuning.calibration.mode = CalibrationMode::kCorrect;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  EXPECT_EQ(Of("east").shift_m, before.shift_m);
  EXPECT_TRUE(Of("east").corrected);
}

TEST_F(SiteCalibrationTest, GoesOnAfterARestartToTheSameBits) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(605);  // in the middle of ten looks
  const std::optional<CalibrationRecord> record = engine_->calibration();
  ASSERT_TRUE(record.has_value());
  const auto random = random_;
  const auto normal = normal_;
  const estimate::Epoch epoch = epoch_;
  Fuse(1);
  const std::vector<float> first = out_[0].means;
  Fuse(100);
  const LeafCalibration east = Of("east"), north = Of("north");
  EXPECT_GT(std::abs(east.shift_m[0]), 0.05);

  Start();
  ASSERT_TRUE(engine_->RestoreCalibration(*record).ok());
  random_ = random;
  normal_ = normal;
  epoch_ = epoch;
  Fuse(1);
  EXPECT_EQ(out_[0].means, first) << "the first slot is corrected already";
  Fuse(100);
  for (const auto& [before, after] : {std::pair(east, Of("east")), std::pair(north, Of("north"))}) {
    EXPECT_EQ(before.scale, after.scale);
    EXPECT_EQ(before.shift_m, after.shift_m);
    EXPECT_EQ(before.turn_deg, after.turn_deg);
    EXPECT_EQ(before.shift_deviation_m, after.shift_deviation_m);
    EXPECT_EQ(before.observations, after.observations);
  }
}

TEST_F(SiteCalibrationTest, AnOutageCountsAsOneWindowAtMost) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(600);
  const LeafCalibration before = Of("east");
  Restart();
  epoch_ += site_.slot.SlotsIn(std::int64_t{3'600'000'000'000});
  Fuse(20);
  // 2 s of eight users a tenth of a second came after it.
  EXPECT_NEAR(Of("east").observations, std::exp(-1 - 1.9 / 30) * before.observations + 155, 5);
  EXPECT_NEAR(Of("east").shift_m[0], before.shift_m[0], 0.02);
}

TEST_F(SiteCalibrationTest, AShortOutageCountsAsLongAsItLasts) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(600);
  const double before = Of("east").observations;
  Restart();
  epoch_ += site_.slot.SlotsIn(std::int64_t{6'000'000'000});
  Fuse(10);
  EXPECT_NEAR(Of("east").observations, std::exp(-(6.1 + 0.9) / 30) * before + 79, 5);
}

TEST_F(SiteCalibrationTest, HasNoRecordBeforeItLooksAndWhenItIsOff) {
  StartWith(CalibrationMode::kObserve);
  EXPECT_FALSE(engine_->calibration().has_value());
  Fuse(1);
  EXPECT_TRUE(engine_->calibration().has_value());
  FusionTuning tuning = site_.tuning;
  tuning.calibration.mode = CalibrationMode::kOff;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  EXPECT_FALSE(engine_->calibration().has_value());
}

TEST_F(SiteCalibrationTest, RefusesTheRecordOfAnotherSite) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(100);
  EXPECT_THAT(Refused([](CalibrationRecord& record) { record.site = "attic"; }), HasSubstr("site: is attic"));
  EXPECT_THAT(Refused([](CalibrationRecord& record) { std::swap(record.sources[0], record.sources[1]); }),
              HasSubstr("sources: is east, north"));
  EXPECT_THAT(Refused([](CalibrationRecord& record) { record.sources.pop_back(); }), HasSubstr("sources"));
  EXPECT_THAT(Refused([](CalibrationRecord& record) { record.prior.shift_m = 0.1; }), HasSubstr("shift_m"));
  EXPECT_THAT(Refused([](CalibrationRecord& record) { record.prior.turn_deg = 1; }), HasSubstr("turn_deg"));
  EXPECT_THAT(Refused([](CalibrationRecord& record) {
                record.learnt.sources[1].state.correction.place = {1, 1};
              }),
              HasSubstr("source[1].place_m"));
}

TEST_F(SiteCalibrationTest, ARecordOfTheFarFutureOrPastHarmsNothing) {
  StartWith(CalibrationMode::kCorrect);
  Fuse(600);
  const double before = Of("east").shift_m[0];
  for (const std::int64_t looked : {std::int64_t{0}, INT64_MAX, INT64_MIN}) {
    std::optional<CalibrationRecord> record = engine_->calibration();
    ASSERT_TRUE(record.has_value());
    record->looked_unix_ns = looked;
    Start();
    ASSERT_TRUE(engine_->RestoreCalibration(*record).ok());
    Fuse(300);
    EXPECT_NEAR(Of("east").shift_m[0], before, 0.03) << looked;
  }
}

}  // namespace
}  // namespace tributary::fusion
