#include "aggregator/memory_ceiling.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/support/example_keys.h"
#include "tests/support/parse_config.h"

namespace tributary::aggregator {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

AggregatorConfig Parse(const std::string& text) {
  const auto config = testing::ParseConfig(ReadAggregatorConfig, text, "a.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(AggregatorConfig());
}

// What the package ships: every limit at its default, with all that peers can reach.
AggregatorConfig Shipped(const std::string& ingest = "") {
  return Parse("[tls]\ncertificate = \"a.pem\"\nkey = \"a.key\"\nca = \"ca.pem\"\n[ingest]\n" + ingest +
               "[federation]\nstore = \"store\"\n"
               "[[site]]\nname = \"lab\"\nsources = [\"south\", \"east\", \"north\", \"west\"]\n");
}

std::uint64_t MemoryMaxOfTheUnit() {
  std::ifstream unit(TRIBUTARY_SOURCE_DIR "/deploy/systemd/tributary-aggregator.service");
  for (std::string line; std::getline(unit, line);) {
    std::uint64_t mib = 0;
    if (line.starts_with("MemoryMax=") && line.ends_with("M") &&
        absl::SimpleAtoi(line.substr(10, line.size() - 11), &mib)) {
      return mib * kMiB;
    }
  }
  return 0;
}

TEST(MemoryCeilingTest, TheDefaultsAddUpToLessThanTheUnitsMemoryMax) {
  ASSERT_GT(MemoryMaxOfTheUnit(), 0u);
  EXPECT_LT(SumOf(MemoryTerms(Shipped())), MemoryMaxOfTheUnit()) << MemoryText(MemoryTerms(Shipped()));
}

TEST(MemoryCeilingTest, GrowsWithEachLimitThatAConfigurationRaises) {
  const std::uint64_t usual = SumOf(MemoryTerms(Shipped()));
  EXPECT_GT(SumOf(MemoryTerms(Shipped("max_connections = 10000\n"))), usual + 800 * kMiB);
  EXPECT_GT(SumOf(MemoryTerms(Shipped("max_calls = 25000\n"))), usual + 800 * kMiB);
  EXPECT_GT(SumOf(MemoryTerms(Shipped("threads = 2\n"))), usual);
  const auto site = [](const std::string& keys) {
    return SumOf(MemoryTerms(Parse("[[site]]\nname = \"lab\"\nsources = [\"a\", \"b\"]\n" + keys)));
  };
  EXPECT_GT(site("max_subjects = 256\n"), site(""));
  EXPECT_GT(site("max_age_s = 4.0\n"), site(""));
  EXPECT_GT(site("classes = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\"]\n"), site(""));
  EXPECT_GT(site("[federation]\nstore = \"s\"\nmax_model_bytes = 100000000\n"),
            site("[federation]\nstore = \"s\"\n") + 200 * kMiB);
}

// Each of the sources may name subjects that no other names, and a fused slot has them all.
TEST(MemoryCeilingTest, CountsTheSubjectsOfAllSourcesInTheSlotsForWatchers) {
  const auto watchers = [](const std::string& sources) {
    std::uint64_t bytes = 0;
    for (const MemoryTerm& each :
         MemoryTerms(Parse("[[site]]\nname = \"lab\"\nmax_subjects = 16\nsources = [" + sources + "]\n"))) {
      if (each.what == "slots for slow watchers") bytes = each.bytes;
    }
    return static_cast<double>(bytes);
  };
  const double two = watchers("\"a\", \"b\"");
  EXPECT_GT(two, 0);
  EXPECT_NEAR(watchers("\"a\", \"b\", \"c\", \"d\"") / two, 2, 0.4) << "a slot has some fields of its own";
}

TEST(MemoryCeilingTest, SaysWhatToDoIfTheProcessMayNotHaveThatMuch) {
  const std::vector<MemoryTerm> terms = {{"the process itself", 300 * kMiB, ""},
                                         {"connections", 200 * kMiB, "ingest.max_connections"},
                                         {"HTTP", kMiB / 2, "fixed"}};
  EXPECT_FALSE(MemoryAdvice(terms, 501 * kMiB).has_value());
  const std::string advice = MemoryAdvice(terms, 500 * kMiB).value_or("");
  EXPECT_THAT(advice, HasSubstr("raise MemoryMax of its unit to 501M"));
  EXPECT_THAT(advice, HasSubstr("200 MiB for connections, bounded by ingest.max_connections"));
}

TEST(MemoryCeilingTest, DocsOfSecurityHaveTheTable) {
  std::string table = "| what | MiB | bounded by |\n|---|---|---|\n";
  const std::vector<MemoryTerm> terms = MemoryTerms(Shipped());
  const auto mib = [](std::uint64_t bytes) { return (bytes + kMiB - 1) / kMiB; };
  for (const MemoryTerm& each : terms) {
    table += fmt::format("| {} | {} | {} |\n", each.what, mib(each.bytes), each.limits);
  }
  table += fmt::format("| all | {} | `MemoryMax`: {} |\n", mib(SumOf(terms)), mib(MemoryMaxOfTheUnit()));
  EXPECT_TRUE(testing::PageHolds(TRIBUTARY_SOURCE_DIR "/docs/security.md", "memory", table))
      << "write it with TRIBUTARY_WRITE_DOCS=1";
}

}  // namespace
}  // namespace tributary::aggregator
