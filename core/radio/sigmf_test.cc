#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/radio/burst.h"
#include "core/radio/sigmf_meta.h"
#include "core/radio/sigmf_samples.h"

namespace tributary::radio {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

json Metadata() {
  return {{"global", {{"core:version", "1.0.0"}, {"core:datatype", "ci16_le"}, {"core:sample_rate", 200000}}},
          {"captures", {{{"core:sample_start", 0}}}},
          {"annotations", json::array()}};
}

std::string Refusal(const json& metadata) {
  const auto meta = ParseSigmfMeta(metadata.dump());
  return meta.ok() ? "taken" : std::string(meta.status().message());
}

template <typename Change>
std::string RefusalWith(Change change) {
  json metadata = Metadata();
  change(metadata);
  return Refusal(metadata);
}

SigmfMeta Meta(SigmfDatatype datatype, std::vector<std::uint64_t> starts = {0}) {
  return {.datatype = datatype, .capture_starts = std::move(starts), .sha512 = ""};
}

template <typename Component>
std::string Bytes(const std::vector<Component>& values) {
  std::string bytes(values.size() * sizeof(Component), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// I counts up, Q down.
std::string Counting(std::size_t samples) {
  std::vector<std::int16_t> values;
  for (std::size_t n = 0; n < samples; ++n) {
    values.push_back(static_cast<std::int16_t>(n));
    values.push_back(static_cast<std::int16_t>(-static_cast<int>(n)));
  }
  return Bytes(values);
}

TEST(SigmfMetaTest, ReadsWhatItNeeds) {
  json metadata = Metadata();
  metadata["global"]["core:sha512"] = std::string(128, 'A');
  metadata["global"]["vendor:anything"] = {1, 2, {{"x", "}]"}}};
  metadata["captures"] = {{{"core:sample_start", 3}, {"core:frequency", 1e8}}, {{"core:sample_start", 500}}};
  metadata["annotations"] = {{{"core:sample_start", 7}, {"core:sample_count", 600}},
                             {{"core:sample_start", 9}}};
  const auto meta = ParseSigmfMeta(metadata.dump(2));
  ASSERT_TRUE(meta.ok()) << meta.status();
  EXPECT_EQ(meta->datatype, SigmfDatatype::kCi16);
  EXPECT_EQ(meta->sample_rate_hz, 200'000);
  EXPECT_THAT(meta->capture_starts, ElementsAre(3, 500));
  EXPECT_EQ(meta->annotated_samples, 607u);
  EXPECT_EQ(meta->sha512, std::string(128, 'a'));
}

TEST(SigmfMetaTest, NamesTheMissingField) {
  EXPECT_EQ(Refusal(json::object()), "global: missing");
  EXPECT_EQ(RefusalWith([](json& m) { m["global"].erase("core:version"); }), "global.core:version: missing");
  EXPECT_EQ(RefusalWith([](json& m) { m["global"].erase("core:datatype"); }),
            "global.core:datatype: missing");
  EXPECT_EQ(RefusalWith([](json& m) { m.erase("captures"); }), "captures: missing");
  EXPECT_EQ(RefusalWith([](json& m) { m["captures"][0].erase("core:sample_start"); }),
            "captures[0].core:sample_start: missing");
  EXPECT_EQ(RefusalWith([](json& m) { m["global"].erase("core:sample_rate"); }), "taken");
}

TEST(SigmfMetaTest, NamesTheWrongField) {
  const auto global = [](const char* key, const json& value) {
    return RefusalWith([&](json& m) { m["global"][key] = value; });
  };
  EXPECT_THAT(global("core:datatype", "cf64_be"), StartsWith("global.core:datatype: found \"cf64_be\""));
  EXPECT_THAT(global("core:datatype", 7), StartsWith("global.core:datatype: found 7"));
  EXPECT_THAT(global("core:version", "2.0"), StartsWith("global.core:version: found \"2.0\""));
  EXPECT_THAT(global("core:sample_rate", -1), StartsWith("global.core:sample_rate: expected a positive"));
  EXPECT_THAT(global("core:sample_rate", "fast"), HasSubstr("found \"fast\""));
  EXPECT_THAT(global("core:sample_rate", nullptr), HasSubstr("found null"));
  EXPECT_THAT(global("core:sha512", "beef"), StartsWith("global.core:sha512: expected 128"));
  EXPECT_THAT(global("core:num_channels", 2), StartsWith("global.core:num_channels: found 2, only 1"));
  EXPECT_THAT(global("core:offset", 8), StartsWith("global.core:offset"));
  EXPECT_THAT(global("core:trailing_bytes", 8), StartsWith("global.core:trailing_bytes"));
  EXPECT_THAT(global("core:metadata_only", true), StartsWith("global.core:metadata_only"));
  EXPECT_THAT(global("core:dataset", "../../etc/passwd"), StartsWith("global.core:dataset: found"));
  EXPECT_THAT(RefusalWith([](json& m) { m["global"] = "x"; }), StartsWith("global: expected an object"));
  EXPECT_THAT(RefusalWith([](json& m) { m["captures"] = json::array(); }), StartsWith("captures: expected"));
  EXPECT_THAT(RefusalWith([](json& m) { m["captures"][0] = 3; }),
              StartsWith("captures[0]: expected an object"));
  EXPECT_THAT(RefusalWith([](json& m) { m["captures"][0]["core:header_bytes"] = 16; }),
              StartsWith("captures[0].core:header_bytes: found 16"));
  for (const json& start : {json(-1), json(1.5), json("0"), json(std::uint64_t{1} << 60)}) {
    EXPECT_THAT(RefusalWith([&](json& m) { m["captures"][0]["core:sample_start"] = start; }),
                StartsWith("captures[0].core:sample_start: expected a count"));
  }
  EXPECT_THAT(RefusalWith([](json& m) {
                m["captures"].push_back({{"core:sample_start", 0}});
              }),
              "captures[1].core:sample_start: 0 does not follow 0");
  EXPECT_THAT(RefusalWith([](json& m) {
                m["annotations"] = {{"a", 1}};
              }),
              StartsWith("annotations: expected"));
  EXPECT_THAT(RefusalWith([](json& m) {
                m["annotations"] = {{{"core:sample_count", 1}}};
              }),
              "annotations[0].core:sample_start: missing");
}

TEST(SigmfMetaTest, RefusesTextThatIsNoMetadata) {
  const auto code = [](std::string_view text) { return ParseSigmfMeta(text).status().code(); };
  EXPECT_EQ(code(""), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("{"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("\"\\"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("{\"global\": \xff}"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("[]"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("null"), absl::StatusCode::kInvalidArgument);
}

TEST(SigmfMetaTest, BoundsSizeAndDepthBeforeItParses) {
  EXPECT_THAT(ParseSigmfMeta(std::string(kMaxSigmfMetaBytes + 1, ' ')).status().message(),
              HasSubstr("at most 1048576"));
  EXPECT_THAT(ParseSigmfMeta(std::string(1 << 20, '[')).status().message(), HasSubstr("deeper than 16"));
  // Brackets within strings do not count.
  json metadata = Metadata();
  metadata["global"]["core:description"] = std::string(100, '[') + "\"\\" + std::string(100, '{');
  EXPECT_EQ(Refusal(metadata), "taken");
}

TEST(SigmfMetaTest, ShowsNoMoreThanALineOfAValue) {
  EXPECT_LT(RefusalWith([](json& m) { m["global"]["core:datatype"] = std::string(100'000, 'x'); }).size(),
            160u);
}

TEST(SigmfMetaTest, NamesTheFileOfTheSamples) {
  EXPECT_EQ(SigmfDataFile("/a.b/x.sigmf-meta"), "/a.b/x.sigmf-data");
  EXPECT_EQ(SigmfDataFile("x.sigmf"), "");
  EXPECT_EQ(SigmfDataFile(""), "");
}

TEST(SigmfSamplesTest, PutsInPhaseBeforeQuadrature) {
  const auto bursts = CutSigmfBursts(Meta(SigmfDatatype::kCi16), Counting(2 * kBurstSamples));
  ASSERT_TRUE(bursts.ok()) << bursts.status();
  ASSERT_EQ(bursts->size(), 2 * kBurstFeatures);
  EXPECT_EQ((*bursts)[5], 5.0f / 32768);
  EXPECT_EQ((*bursts)[kBurstSamples + 5], -5.0f / 32768);
  EXPECT_EQ((*bursts)[kBurstFeatures + 1], 129.0f / 32768);
}

TEST(SigmfSamplesTest, ReadsFloatsAsTheyAre) {
  std::vector<float> values(kBurstFeatures, 0.25f);
  values[2] = std::numeric_limits<float>::quiet_NaN();
  values[3] = -7;
  const auto bursts = CutSigmfBursts(Meta(SigmfDatatype::kCf32), Bytes(values));
  ASSERT_TRUE(bursts.ok()) << bursts.status();
  EXPECT_TRUE(std::isnan((*bursts)[1]));
  EXPECT_EQ((*bursts)[kBurstSamples + 1], -7);
}

TEST(SigmfSamplesTest, CutsNoBurstAcrossCaptures) {
  const auto bursts =
      CutSigmfBursts(Meta(SigmfDatatype::kCi16, {10, 10 + 300, 10 + 350}), Counting(10 + 350 + 129));
  ASSERT_TRUE(bursts.ok()) << bursts.status();
  ASSERT_EQ(bursts->size(), 3 * kBurstFeatures);  // two of 300 samples, none of 50, one of 129
  EXPECT_EQ((*bursts)[0], 10.0f / 32768);
  EXPECT_EQ((*bursts)[2 * kBurstFeatures], 360.0f / 32768);
}

TEST(SigmfSamplesTest, RefusesDataThatIsNotAsTheMetadataSays) {
  const auto refusal = [](const SigmfMeta& meta, const std::string& data) {
    return std::string(CutSigmfBursts(meta, data).status().message());
  };
  const std::string data = Counting(kBurstSamples);
  EXPECT_THAT(refusal(Meta(SigmfDatatype::kCi16), data.substr(1)), HasSubstr("511 bytes are not a whole"));
  EXPECT_THAT(refusal(Meta(SigmfDatatype::kCi16), data.substr(4)), HasSubstr("captures: none of 128"));
  EXPECT_THAT(refusal(Meta(SigmfDatatype::kCi16), ""), HasSubstr("the data has 0 samples"));
  EXPECT_THAT(refusal(Meta(SigmfDatatype::kCi16, {0, 128}), data),
              StartsWith("captures[1].core:sample_start"));
  SigmfMeta annotated = Meta(SigmfDatatype::kCi16);
  annotated.annotated_samples = 129;
  EXPECT_THAT(refusal(annotated, data), StartsWith("annotations: end at sample 129"));
}

// The digest is coreutils' sha512sum of 512 zero bytes.
TEST(SigmfSamplesTest, ComparesTheDigest) {
  SigmfMeta meta = Meta(SigmfDatatype::kCi16);
  meta.sha512 =
      "df40d4a774e0b453a5b87c00d6f0ef5d753143454e88ee5f7b607134598294c7"
      "905ccbcf94bbc46e474db6eb44e56a6dbb6d9a1be9d4fb5d1b5f2d0c6ed34bfe";
  const std::string zeros(4 * kBurstSamples, '\0');
  EXPECT_TRUE(CutSigmfBursts(meta, zeros).ok());
  EXPECT_THAT(CutSigmfBursts(meta, Counting(kBurstSamples)).status().message(),
              HasSubstr("global.core:sha512: "));
}

}  // namespace
}  // namespace tributary::radio
