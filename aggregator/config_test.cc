#include "aggregator/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/parse_config.h"

namespace tributary::aggregator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<AggregatorConfig> ParseAggregatorConfig(std::string_view text, std::string_view path) {
  return testing::ParseConfig(ReadAggregatorConfig, text, path);
}

std::string Faults(std::string_view text) {
  return std::string(ParseAggregatorConfig(text, "a.toml").status().message());
}

TEST(AggregatorConfigTest, TakesASiteWithDefaults) {
  const auto config = ParseAggregatorConfig("[[site]]\nname = \"lab\"\nsources = [\"north\"]\n", "a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen, "127.0.0.1:7400");
  EXPECT_EQ(config->ingest_threads, 1u);
  ASSERT_EQ(config->sites.size(), 1u);
  EXPECT_EQ(config->sites[0].fusion.tuning.deadline_ns, 5'000'000);
  EXPECT_FALSE(config->sites[0].fusion.tuning.gate_probability.has_value());
  EXPECT_FALSE(config->parent.has_value());
}

TEST(AggregatorConfigTest, ThePathOfAUnixSocketStartsAtItsOwnFolder) {
  const auto config = ParseAggregatorConfig(
      "listen = \"unix:hub.sock\"\n[[site]]\nname = \"a\"\nsources = [\"x\"]\n", "/etc/a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen, "unix:/etc/hub.sock");
}

TEST(AggregatorConfigTest, EachSiteHasItsOwnFileOfWhatItsSourcesLearn) {
  const std::string a = "[[site]]\nname = \"a\"\nsources = [\"x\"]\n",
                    b = "[[site]]\nname = \"b\"\nsources = [\"x\"]\n";
  const std::string state = "[site.calibration]\nstate = \"kept.toml\"\n";
  const auto config = ParseAggregatorConfig(a + state + b, "/etc/a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->sites[0].calibration_file, "/etc/kept.toml");
  EXPECT_EQ(config->sites[1].calibration_file, "");
  EXPECT_THAT(Faults(a + state + b + state),
              HasSubstr("site[1].calibration.state: kept.toml: is the file of two"));
}

TEST(AggregatorConfigTest, TheDefaultsOfASiteFollowItsSlot) {
  const auto config = ParseAggregatorConfig(
      "[[site]]\nname = \"tags\"\nsources = [\"a\"]\nslot_ms = 100\n"
      "[[site]]\nname = \"beats\"\nsources = [\"a\"]\nslot_ms = 16.666667\nwindow_slots = 512\ndeadline_ms = "
      "8\n",
      "a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  const fusion::SiteConfig& tags = config->sites[0].fusion;
  EXPECT_EQ(tags.slot.ns(), 100'000'000);
  EXPECT_EQ(tags.tuning.deadline_ns, 104'500'000);
  EXPECT_EQ(tags.window_slots, 32u);
  const fusion::SiteConfig& beats = config->sites[1].fusion;
  EXPECT_EQ(beats.slot.ns(), 16'666'667);
  EXPECT_EQ(beats.tuning.deadline_ns, 8'000'000);
  EXPECT_EQ(beats.window_slots, 512u);
}

TEST(AggregatorConfigTest, ASiteHasPositionsOrClasses) {
  const std::string head = "[[site]]\nname = \"air\"\nsources = [\"roof\"]\n";
  const auto config =
      ParseAggregatorConfig(head + "classes = [\"BPSK\", \"QPSK\"]\nprior = [0.25, 0.75]\n", "a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  const fusion::SiteConfig& site = config->sites[0].fusion;
  EXPECT_EQ(site.shape(), (estimate::TupleShape{0, 2}));
  EXPECT_EQ(site.prior, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(ParseAggregatorConfig(head + "classes = []\n", "a.toml")->sites[0].fusion.dimension, 2u);

  const std::string two = head + "classes = [\"BPSK\", \"QPSK\"]\n";
  EXPECT_THAT(Faults(two + "dimension = 2\n"), HasSubstr("dimension: a site with classes has none"));
  EXPECT_THAT(Faults(two + "track = true\n"), HasSubstr("track: only positions"));
  EXPECT_THAT(Faults(two + "prior = [1]\n"), HasSubstr("prior: has 1 probabilities for 2 classes"));
  EXPECT_THAT(Faults(two + "prior = [0.5, 0.6]\n"), HasSubstr("prior: the probabilities sum to 1.1"));
  for (const char* bad : {"[0, 1]", "[-1, 2]", "[nan, 1]", "[\"x\", 1]", "0.5"}) {
    EXPECT_THAT(Faults(two + "prior = " + bad + "\n"), HasSubstr("prior")) << bad;
  }
  EXPECT_THAT(Faults(head + "prior = [0.5, 0.5]\n"), HasSubstr("prior: is for a site with classes"));
  EXPECT_THAT(Faults(head + "classes = [\"BPSK\"]\n"), HasSubstr("2 to 256 classes, found 1"));
  EXPECT_THAT(Faults(head + "classes = [\"BPSK\", \"BPSK\"]\n"), HasSubstr("\"BPSK\" is named twice"));
  EXPECT_THAT(Faults(head + "classes = [\"BPSK\", \"\"]\n"), HasSubstr("names of 1 to 128 bytes"));
}

TEST(AggregatorConfigTest, RefusesASlotOutOfRange) {
  for (const char* slot : {"0", "-1", "0.009", "3600001", "nan", "\"10 ms\""}) {
    EXPECT_THAT(Faults(std::string("[[site]]\nname = \"lab\"\nsources = [\"a\"]\nslot_ms = ") + slot + "\n"),
                HasSubstr("slot_ms"))
        << slot;
  }
}

TEST(AggregatorConfigTest, ReportsEveryFaultAtOnceWithItsLine) {
  EXPECT_THAT(Faults("listen = 1\n"
                     "colour = \"blue\"\n"
                     "[[site]]\n"
                     "name = \"lab\"\n"
                     "sources = [\"a\", \"a\"]\n"
                     "dimension = 4\n"
                     "late = \"never\"\n"
                     "model_sha256 = \"12\"\n"),
              AllOf(HasSubstr("a.toml:1:"), HasSubstr("a.toml:2: colour: unknown key"),
                    HasSubstr("\"a\" is named twice"), HasSubstr("from 1 to 3"), HasSubstr("count, revise"),
                    HasSubstr("64 hexadecimal digits")));
}

TEST(AggregatorConfigTest, RefusesToLeaveTheLoopbackWithoutTls) {
  const std::string site = "[[site]]\nname = \"lab\"\nsources = [\"a\"]\n";
  EXPECT_THAT(Faults("listen = \"0.0.0.0:7400\"\n" + site), HasSubstr("insecure = true"));
  EXPECT_THAT(Faults("[http]\nlisten = \"0.0.0.0:80\"\n" + site), HasSubstr("insecure = true"));
  EXPECT_TRUE(ParseAggregatorConfig("listen = \"0.0.0.0:7400\"\ninsecure = true\n" + site, "a.toml").ok());
}

constexpr const char* kOwnedSite =
    "[tls]\ncertificate = \"a.pem\"\nkey = \"a.key\"\nca = \"ca.pem\"\n"
    "[[site]]\nname = \"lab\"\nsources = [\"a\", \"b\", \"c\"]\n";

TEST(AggregatorConfigTest, ASourceBelongsToItsOwnerOrToTheNodeOfItsName) {
  const auto config = ParseAggregatorConfig(
      std::string(kOwnedSite) +
          "[[site.owner]]\nnode = \"board\"\nsources = [\"a\", \"b\"]\nfusion_name = \"roof\"\n"
          "[access]\noperators = [\"laptop\"]\nchildren = [\"hall\"]\nrefused = [\"d\"]\n",
      "a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  const access::AccessPolicy policy = PolicyOf(*config, *config);
  EXPECT_TRUE(policy.CheckSource("lab", "board", "a", {"a"}).ok());
  EXPECT_TRUE(policy.CheckSource("lab", "board", "roof", {"a", "b"}).ok());
  EXPECT_TRUE(policy.CheckSource("lab", "c", "c", {"c"}).ok());
  EXPECT_FALSE(policy.CheckSource("lab", "a", "a", {"a"}).ok());
  EXPECT_TRUE(policy.RolesOf("laptop").Has(access::Role::kOperator));
  EXPECT_TRUE(policy.CheckChild("hall").ok());
  EXPECT_TRUE(policy.Refuses("d"));
}

// A site keeps its sources until the aggregator is started again.
TEST(AggregatorConfigTest, ASourceThatAReloadLeavesOutIsNobodyElses) {
  const auto started = ParseAggregatorConfig(kOwnedSite, "a.toml");
  std::string text = kOwnedSite;
  text.replace(text.find(", \"c\""), 5, "");
  const auto reloaded = ParseAggregatorConfig(text, "a.toml");
  ASSERT_TRUE(reloaded.ok()) << reloaded.status();
  ASSERT_EQ(reloaded->sites[0].fusion.leaves.size(), 2u);
  const access::AccessPolicy policy = PolicyOf(*reloaded, *started);
  EXPECT_TRUE(policy.CheckSource("lab", "c", "c", {"c"}).ok());
  EXPECT_FALSE(policy.CheckSource("lab", "a", "a", {"a", "c"}).ok());
}

TEST(AggregatorConfigTest, RefusesOwnersThatNothingCanBe) {
  const auto owner = [](const std::string& keys) {
    return Faults(std::string(kOwnedSite) + "[[site.owner]]\n" + keys);
  };
  EXPECT_THAT(owner("node = \"board\"\nsources = [\"d\"]\n"),
              HasSubstr("a.toml:10: site[0].owner[0].sources: \"d\" is not one of the site's sources"));
  EXPECT_THAT(owner("node = \"board\"\n"), HasSubstr("sources: is required"));
  EXPECT_THAT(owner("sources = [\"a\"]\n"), HasSubstr("node: is required"));
  EXPECT_THAT(owner("node = \"board\"\nsources = [\"a\"]\nfusion_name = \"b\"\n"),
              HasSubstr("fusion_name: \"b\" is one of the site's sources"));
  EXPECT_THAT(owner("node = \"board\"\nsources = [\"a\"]\n[[site.owner]]\nnode = \"board\"\n"
                    "sources = [\"b\"]\n"),
              HasSubstr("site[0].owner[1].node: \"board\" is the name of another owner"));
}

TEST(AggregatorConfigTest, RefusesNamesThatNobodyCouldCheckWithoutTls) {
  const std::string site = "[[site]]\nname = \"lab\"\nsources = [\"a\"]\n";
  EXPECT_THAT(Faults("[access]\noperators = [\"laptop\"]\n" + site),
              HasSubstr("access: needs certificate, key and ca in [tls]"));
  EXPECT_THAT(Faults(site + "[[site.owner]]\nnode = \"board\"\nsources = [\"a\"]\n"),
              HasSubstr("site[0].owner[0]: needs certificate, key and ca in [tls]"));
}

TEST(AggregatorConfigTest, HttpHasItsOwnLeaveToBeExposed) {
  const std::string site = "[[site]]\nname = \"lab\"\nsources = [\"a\"]\n";
  const std::string http = "[http]\nlisten = \"0.0.0.0:80\"\n";
  EXPECT_TRUE(ParseAggregatorConfig(http + "insecure = true\n" + site, "a.toml").ok());
  EXPECT_THAT(Faults("insecure = true\n" + http + site), HasSubstr("a.toml:3: http.listen: "));
  EXPECT_THAT(Faults("listen = \"0.0.0.0:7400\"\n[http]\ninsecure = true\n" + site),
              HasSubstr("a.toml:1: listen: "))
      << "it opens HTTP alone";
}

TEST(AggregatorConfigTest, RefusesAConfigurationWithoutSites) {
  EXPECT_THAT(Faults(""), HasSubstr("[[site]]"));
}

TEST(AggregatorConfigTest, NeedsNoSiteWhereThereIsAFederation) {
  const auto config = ParseAggregatorConfig(
      "[federation]\nstore = \"runs\"\nkeep_models = 3\n[federation.evaluation]\nimages = \"glyphs\"\n",
      "a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_TRUE(config->federation.has_value());
  EXPECT_EQ(config->federation->store, "runs");
  EXPECT_EQ(config->federation->keep_models, 3u);
  ASSERT_TRUE(config->federation->evaluation.has_value());
  EXPECT_EQ(config->federation->evaluation->images, "glyphs");
}

TEST(AggregatorConfigTest, ResolvesFilesAgainstItsOwnFolder) {
  const auto config = ParseAggregatorConfig(
      "[tls]\ncertificate = \"hub.pem\"\nkey = \"keys/hub.key\"\nca = \"/etc/ca.pem\"\n"
      "[federation]\nstore = \"../runs\"\n[federation.evaluation]\nimages = \"a.gz\"\ntest_images = "
      "\"glyphs\"\n",
      "/opt/site/a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->tls->certificate, "/opt/site/hub.pem");
  EXPECT_EQ(config->tls->key, "/opt/site/keys/hub.key");
  EXPECT_EQ(config->tls->ca, "/etc/ca.pem");
  EXPECT_EQ(config->federation->store, "/opt/runs");
  EXPECT_EQ(config->federation->evaluation->images, "/opt/site/a.gz");
  EXPECT_EQ(config->federation->evaluation->labels, "");
  EXPECT_EQ(config->federation->evaluation->test_images, "glyphs");
}

TEST(AggregatorConfigTest, RefusesAFederationWithoutAStore) {
  EXPECT_THAT(Faults("[federation]\nkeep_models = -1\n"),
              AllOf(HasSubstr("store"), HasSubstr("keep_models")));
}

TEST(AggregatorConfigTest, TakesPartInAParentsRuns) {
  const std::string keys =
      "[federation]\nstore = \"runs\"\n[federation.parent]\naggregator = \"127.0.0.1:7401\"\nnode = "
      "\"hall-2\"\n";
  const auto config = ParseAggregatorConfig(keys, "a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_TRUE(config->federation->parent.has_value());
  EXPECT_EQ(config->federation->parent->node, "hall-2");
  EXPECT_EQ(config->federation->parent->run, "");
  EXPECT_EQ(config->federation->parent->min_nodes, 2u);
}

TEST(AggregatorConfigTest, IsNotItsOwnParent) {
  const std::string runs = "[federation]\nstore = \"runs\"\n";
  const std::string itself = "aggregator = \"localhost:7400\"\nnode = \"hall-2\"\n";
  EXPECT_THAT(
      Faults(runs + "[federation.parent]\n" + itself),
      HasSubstr("a.toml:4: federation.parent.aggregator: \"localhost:7400\" is this aggregator itself"));
  EXPECT_THAT(Faults(runs + "[parent]\n" + itself), HasSubstr("parent.aggregator: \"localhost:7400\" is"));
}

TEST(AggregatorConfigTest, ReachesAFederationsParentOffTheLoopbackWithTlsOnly) {
  const std::string keys =
      "[federation]\nstore = \"runs\"\n[federation.parent]\naggregator = \"plant:7400\"\nnode = \"hall-2\"\n";
  EXPECT_THAT(Faults(keys), HasSubstr("\"plant:7400\" is not on the loopback"));
  EXPECT_TRUE(ParseAggregatorConfig("insecure = true\n" + keys, "a.toml").ok());
  EXPECT_THAT(Faults("[federation]\nstore = \"runs\"\n[federation.parent]\nmin_nodes = 0\n"),
              AllOf(HasSubstr("aggregator"), HasSubstr("node"), HasSubstr("min_nodes")));
}

TEST(AggregatorConfigTest, TakesNoAgeLimitAsUnlimited) {
  const auto config = ParseAggregatorConfig(
      "[[site]]\nname = \"lab\"\nsources = [\"a\"]\nmax_age_s = 0\nmax_lead_s = 0\n", "a.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->sites[0].fusion.max_age_ns.has_value());
  EXPECT_FALSE(config->sites[0].fusion.max_lead_ns.has_value());
}

}  // namespace
}  // namespace tributary::aggregator
