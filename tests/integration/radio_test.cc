// A node that hears radio signals: what it refuses at the start, and what it counts and lives with.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/radio/burst.h"
#include "core/scene/gaussian_noise.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kConfigurationFault = 78;
constexpr std::string_view kFloats =
    R"({"global": {"core:version": "1.0.0", "core:datatype": "cf32_le", "core:sample_rate": 200000},
        "captures": [{"core:sample_start": 0}]})";

class RadioTest : public ::testing::Test {
 protected:
  std::string Configuration(const std::string& source) const {
    return folder_.Write(
        "node.toml",
        fmt::format(
            "node = \"north\"\nsite = \"band\"\n[http]\nlisten = \"127.0.0.1:{}\"\n[[panel]]\n"
            "name = \"north\"\nworkload = \"modulation\"\nmodel = \"{}/models/modulation.safetensors\"\n"
            "[panel.source]\n{}",
            http_port_, TRIBUTARY_SOURCE_DIR, source));
  }
  std::string Recording(const std::string& keys = "") const {
    return Configuration("kind = \"sigmf\"\nfile = \"x.sigmf-meta\"\nloop = true\nrate_hz = 200\n" + keys);
  }

  // What --check says about a recording; it must refuse it.
  std::string Refusal(std::string_view metadata, const std::string& data) const {
    folder_.Write("x.sigmf-meta", std::string(metadata));
    folder_.Write("x.sigmf-data", data);
    Process check("tributary-node", {"--config", Recording(), "--check"}, folder_.Path("check.log"));
    EXPECT_EQ(check.Wait(std::chrono::seconds(30)), kConfigurationFault);
    return check.Log();
  }

  double Unusable(const std::string& reason) const {
    return MetricValue(
        HttpGet(http_port_, "/metrics"),
        fmt::format("tributary_panel_unusable_bursts_total{{panel=\"north\",reason=\"{}\"}}", reason));
  }
  double Tuples() const {
    return MetricValue(HttpGet(http_port_, "/metrics"), "tributary_panel_tuples_total{panel=\"north\"}");
  }

  const ScratchFolder folder_;
  const int http_port_ = ReservePort();
};

TEST_F(RadioTest, RefusesARecordingThatIsNotAsItsMetadataSays) {
  const std::string burst(radio::kBurstFeatures * sizeof(float), '\0');
  EXPECT_THAT(Refusal("{}", burst), HasSubstr("x.sigmf-meta: global: missing"));
  EXPECT_THAT(Refusal(std::string(1000, '['), burst), HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(Refusal(kFloats, burst.substr(1)), HasSubstr("not a whole number of samples of 8 bytes"));
  EXPECT_THAT(Refusal(kFloats, ""), HasSubstr("captures[0].core:sample_start: 0, the data has 0 samples"));
  std::string other(kFloats);
  other.replace(other.find("cf32_le"), 7, "cf64_le");
  EXPECT_THAT(Refusal(other, burst), HasSubstr("global.core:datatype: found \"cf64_le\""));
  other = kFloats;
  other.replace(other.find("200000"), 6, "250000");
  EXPECT_THAT(Refusal(other, burst),
              HasSubstr("global.core:sample_rate: 250000, the source's sample_rate_hz"));
}

// One burst of noise, and one of each fault.
TEST_F(RadioTest, CountsBurstsThatItCannotUseAndGoesOn) {
  std::vector<float> samples(4 * radio::kBurstFeatures);
  scene::FillGaussianNoise(1, 1, samples);
  const auto burst = [&](std::size_t n) {
    return std::span(samples).subspan(n * radio::kBurstFeatures, radio::kBurstFeatures);
  };
  burst(1)[9] = std::numeric_limits<float>::quiet_NaN();
  for (float& component : burst(2)) component = 0;
  for (float& component : burst(3)) component = component > 0 ? 1.0f : -1.0f;
  folder_.Write("x.sigmf-meta", std::string(kFloats));
  folder_.Write("x.sigmf-data",
                std::string(reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(float)));
  Process node("tributary-node", {"--config", Recording()}, folder_.Path("node.log"));
  EXPECT_TRUE(WaitFor([&] {
    return Unusable("not_finite") > 2 && Unusable("zero") > 2 && Unusable("clipped") > 2 && Tuples() > 2;
  })) << node.Log();
  EXPECT_TRUE(node.Running());
  EXPECT_THAT(node.Log(), HasSubstr("panel north: a burst of subject 1 is not used: "));
}

TEST_F(RadioTest, RecognisesSimulatedEmitters) {
  Process node("tributary-node",
               {"--config", Configuration("kind = \"generator\"\nsubjects = 3\nrate_hz = 100\n")},
               folder_.Path("node.log"));
  EXPECT_TRUE(WaitFor([&] { return Tuples() >= 30; })) << node.Log();
  for (const char* reason : {"not_finite", "zero", "clipped"}) EXPECT_EQ(Unusable(reason), 0) << reason;
}

}  // namespace
}  // namespace tributary::testing
