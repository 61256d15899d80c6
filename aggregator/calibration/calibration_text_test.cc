#include "aggregator/calibration/calibration_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tributary::calibration {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPath = "lab.toml";

// Numbers of every size, with all of their bits in use.
class CalibrationTextTest : public ::testing::Test {
 protected:
  double Any() {
    const double value = std::bit_cast<double>(random_());
    return std::isfinite(value) ? value : 0.1;
  }

  fusion::CalibrationRecord Record(std::size_t sources) {
    fusion::CalibrationRecord record{.site = "la\"b\\ ä",
                                     .prior = {.shift_m = Any(), .turn_deg = Any()},
                                     .looked_unix_ns = 1'700'000'000'123'456'789,
                                     .looks = 7,
                                     .next_row = 99};
    for (std::size_t i = 0; i < sources; ++i) {
      record.sources.push_back(std::string(100, 'p') + std::to_string(i));
      record.learnt.sources.push_back(
          {.state =
               {.correction = {.place = {Any(), 5}, .shift = {-0.0, Any()}, .turn = Any(), .scale = Any()},
                .shift_deviation = {Any(), Any()},
                .turn_deviation = Any(),
                .observations = Any()},
           .agreed = Any(),
           .squares = Any(),
           .redundancy = Any(),
           .expected = Any(),
           .observations = Any()});
    }
    const auto unknowns = static_cast<Eigen::Index>(3 * sources);
    record.learnt.normal = Eigen::MatrixXd::NullaryExpr(unknowns, unknowns, [this] { return Any(); });
    record.learnt.rhs = Eigen::VectorXd::NullaryExpr(unknowns, [this] { return Any(); });
    return record;
  }

  static std::string Fault(const std::string& text) {
    const auto record = DecodeCalibration(text, kPath);
    EXPECT_FALSE(record.ok());
    return std::string(record.status().message());
  }
  // A sound file with one text replaced, and a checksum that fits.
  std::string FaultWith(const std::string& from, const std::string& to) {
    std::string text = EncodeCalibration(Record(2));
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return Fault(WithChecksum(text.substr(text.find('\n') + 1)));
  }

  std::mt19937_64 random_{7};
};

TEST_F(CalibrationTextTest, ReadsTheSameBits) {
  for (const std::size_t sources : {1, 3, 16}) {
    const fusion::CalibrationRecord record = Record(sources);
    const std::string text = EncodeCalibration(record);
    EXPECT_LT(text.size(), kMostBytes / 2);
    const auto read = DecodeCalibration(text, kPath);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(EncodeCalibration(*read), text);
    EXPECT_EQ(read->site, record.site);
    EXPECT_EQ(read->sources, record.sources);
    EXPECT_EQ(read->looked_unix_ns, record.looked_unix_ns);
    EXPECT_EQ(read->prior.shift_m, record.prior.shift_m);
    EXPECT_TRUE(read->learnt.rhs == record.learnt.rhs);
    const Eigen::MatrixXd lower = record.learnt.normal.triangularView<Eigen::Lower>();
    EXPECT_TRUE(read->learnt.normal == lower);
    EXPECT_EQ(read->learnt.sources.back().state.turn_deviation,
              record.learnt.sources.back().state.turn_deviation);
    EXPECT_EQ(read->learnt.sources.back().squares, record.learnt.sources.back().squares);
  }
}

TEST_F(CalibrationTextTest, EveryDamageIsFound) {
  const std::string text = EncodeCalibration(Record(1));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(DecodeCalibration(damaged, kPath).status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(DecodeCalibration(text.substr(0, i), kPath).status())) << i;
  }
  EXPECT_THAT(Fault(""), HasSubstr("lab.toml:1: crc32c: "));
}

TEST_F(CalibrationTextTest, AnotherFormatIsNotRead) {
  const std::string fault = FaultWith("format = 1", "format = 2\nwhatever = true");
  EXPECT_EQ(fault, "lab.toml: format: is 2, this release reads 1");
}

TEST_F(CalibrationTextTest, NamesFileLineAndKeyOfEachFault) {
  EXPECT_THAT(FaultWith("format = 1", "format = -1"), HasSubstr("lab.toml:3: format: expected an integer"));
  EXPECT_THAT(FaultWith("format = 1\n", ""), HasSubstr("format: is required"));
  EXPECT_THAT(FaultWith("looks = 7", "looks = 1001"), HasSubstr("looks: expected an integer from 0 to 1000"));
  EXPECT_THAT(FaultWith("looks = 7", "looks = 7\nlook = 7"), HasSubstr("look: unknown key"));
  EXPECT_THAT(FaultWith("looks = 7", "looks = 7\nlooks = 7"), HasSubstr("lab.toml:9:"));
  EXPECT_THAT(FaultWith("next_row = 99", "next_row = -1"), HasSubstr("next_row"));
  EXPECT_THAT(FaultWith("looked_unix_ns = 1700000000123456789", "looked_unix_ns = 1e300"),
              HasSubstr("looked_unix_ns: expected an integer"));
  EXPECT_THAT(FaultWith("turn_rad = ", "turn_rad = nan #"),
              HasSubstr("source[0].turn_rad: expected a number"));
  EXPECT_THAT(FaultWith("\nscale = ", "\nscale = inf #"), HasSubstr("source[0].scale: expected a number"));
  EXPECT_THAT(FaultWith("squares = ", "squares = \"x\" #"), HasSubstr("source[0].squares"));
  EXPECT_THAT(FaultWith("place_m = [", "place_m = [1.0, "),
              HasSubstr("source[0].place_m: expected 2 numbers, found 3"));
  EXPECT_THAT(FaultWith("normal = [", "normal = [1.0, "), HasSubstr("normal: expected 21 numbers, found 22"));
  EXPECT_THAT(FaultWith("rhs = [", "rhs = [-inf, "), HasSubstr("rhs: expected in the array: a number"));
  EXPECT_THAT(FaultWith("[[source]]\nname = \"", "[[source]]\nname = \"\\u0007"),
              HasSubstr("source[0].name"));
  EXPECT_THAT(FaultWith("[[source]]", "[[sauce]]"), HasSubstr("sauce"));
}

TEST_F(CalibrationTextTest, TakesSixteenSourcesAtMost) {
  EXPECT_THAT(Fault(EncodeCalibration(Record(17))),
              HasSubstr("source: expected at most 16 sources, found 17"));
  std::string many = "format = 1\n";
  for (int i = 0; i < 5'000; ++i) many += "[[source]]\n";
  EXPECT_THAT(Fault(WithChecksum(many)), HasSubstr("found 5000"));
}

}  // namespace
}  // namespace tributary::calibration
