#include "core/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_split.h"
#include "core/config/nesting.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigSection Root(std::string_view text) {
    file_ = std::make_unique<ConfigFile>(*ConfigFile::Parse(text, "node.toml"));
    return file_->Root();
  }
  using Texts = std::vector<std::string>;
  // What a key gives to a variable that has this default.
  template <typename T>
  static T Value(const ConfigSection& section, std::string_view key, T value) {
    section.Read(key, value);
    return value;
  }
  static std::string Value(const ConfigSection& section, std::string_view key, const char* value) {
    return Value(section, key, std::string(value));
  }
  std::string Faults() const { return std::string(file_->Finish().message()); }

  std::unique_ptr<ConfigFile> file_;
};

TEST_F(ConfigTest, GivesValuesAndDefaults) {
  const ConfigSection root =
      Root("name = \"north\"\nrate = 3\nleaves = [\"a\", \"b\"]\n[uplink]\nspool = 12\n");
  EXPECT_EQ(Value(root, "name", ""), "north");
  EXPECT_EQ(Value(root, "rate", 1.0), 3.0) << "an integer is a number";
  EXPECT_EQ(Value(root, "absent", 7), 7);
  EXPECT_THAT(Value(root, "leaves", Texts()), ElementsAre("a", "b"));
  EXPECT_EQ(Value(root.Section("uplink"), "spool", std::uint16_t{1}), 12);
  EXPECT_EQ(Value(root.Section("nothing"), "here", true), true);
  EXPECT_TRUE(file_->Finish().ok()) << Faults();
}

TEST_F(ConfigTest, ReportsEveryFaultInTheOrderOfTheFile) {
  const ConfigSection root = Root("rate = \"fast\"\nspool = -1\ncolour = 1\nkind = \"rom\"\n");
  int spool = 5;
  root.Read("spool", spool, {.min = 1, .max = 9});
  Value(root, "rate", 1.0);
  std::string kind = "room", node;
  root.Choose("kind", kind, {"room", "replay"});
  root.Read("node", node, Required(""));
  EXPECT_EQ(spool, 5);
  EXPECT_EQ(kind, "room");
  EXPECT_EQ(Faults(),
            "node.toml:1: node: is required (text in quotes)\n"
            "node.toml:1: rate: expected a number, found \"fast\"\n"
            "node.toml:2: spool: expected an integer from 1 to 9, found -1\n"
            "node.toml:3: colour: unknown key\n"
            "node.toml:4: kind: expected one of room, replay, found \"rom\"");
}

TEST_F(ConfigTest, PrintsAKeyInOneLine) {
  Root("\"a\\nb\\u001b\" = 1\n");
  EXPECT_EQ(Faults(), "node.toml:1: a\\x0ab\\x1b: unknown key");
}

// They go into logs, onto terminals and into files that must be UTF-8.
TEST(NameTest, IsPrintableUtf8) {
  EXPECT_TRUE(IsName("h\u00f6rsaal 3"));
  EXPECT_TRUE(IsName(std::string(128, 'a')));
  EXPECT_FALSE(IsName(""));
  EXPECT_FALSE(IsName(std::string(129, 'a')));
  EXPECT_FALSE(IsName("a\nb"));
  EXPECT_FALSE(IsName("a\x1b[31m"));
  EXPECT_FALSE(IsName("x\x9by")) << "Latin-1";
  EXPECT_FALSE(IsName("x\u009by")) << "a terminal's escape";
  EXPECT_FALSE(IsName("x\u202ey")) << "turns what follows";
}

TEST_F(ConfigTest, TellsTheFirstThousandFaultsAndCountsTheOthers) {
  std::string text = "leaves = [";
  for (int i = 0; i < 1005; ++i) text += "1, ";
  Value(Root(text + "]"), "leaves", Texts());
  const std::string faults = Faults();
  EXPECT_EQ(std::ranges::count(faults, '\n'), 1000);
  EXPECT_TRUE(faults.ends_with("\nnode.toml: 5 more faults"));
}

TEST_F(ConfigTest, AFaultyValueFallsBackToTheDefaultSoThatReadingGoesOn) {
  double rate = 2;
  Root("rate = nan").Read("rate", rate, {.min = 0});
  EXPECT_EQ(rate, 2.0);
  EXPECT_THAT(Faults(), HasSubstr("found nan"));
}

TEST_F(ConfigTest, AnOpenEndDoesNotBelongToItsRange) {
  const ConfigSection root = Root("a = 0\nb = 1\nc = 0\nd = 0.5\n");
  const RealLimits open = {.min = 0, .max = 1, .above_min = true, .below_max = true};
  const RealLimits half = {.min = 0, .max = 1, .below_max = true};
  double a = 0.1, b = 0.1, c = 0.1, d = 0.1;
  root.Read("a", a, open);
  root.Read("b", b, half);
  root.Read("c", c, half);
  root.Read("d", d, {.min = 0.5, .above_min = true});
  EXPECT_EQ(c, 0);
  EXPECT_EQ(Faults(),
            "node.toml:1: a: expected a number above 0, below 1, found 0\n"
            "node.toml:2: b: expected a number from 0 to below 1, found 1\n"
            "node.toml:4: d: expected a number above 0.5, found 0.5");
}

TEST_F(ConfigTest, FindsUnknownKeysInNestedTables) {
  const ConfigSection root = Root("[[site]]\nname = \"lab\"\nrang = 1\n[other]\nx = 1\n");
  for (const ConfigSection& site : root.List("site")) Value(site, "name", "");
  EXPECT_THAT(Faults(), HasSubstr("node.toml:3: site[0].rang: unknown key"));
  EXPECT_THAT(Faults(), HasSubstr("node.toml:4: other: unknown key"));
  EXPECT_THAT(Faults(), Not(HasSubstr("other.x"))) << "an unknown table is reported once";
}

TEST_F(ConfigTest, AsksWhatAMistypedKeyOrTableWasMeantToBe) {
  const ConfigSection root = Root("spol = 1\n[[site]]\nnmae = \"lab\"\nspool = 1\n[uplnik]\ndrain = 1\n");
  Value(root, "spool", 1);
  for (const ConfigSection& site : root.List("site")) Value(site, "name", "");
  Value(root.Section("uplink"), "drain", 1);
  EXPECT_EQ(Faults(),
            "node.toml:1: spol: unknown key; did you mean spool?\n"
            "node.toml:3: site[0].nmae: unknown key; did you mean name?\n"
            "node.toml:4: site[0].spool: unknown key\n"
            "node.toml:5: uplnik: unknown key; did you mean uplink?");
}

// A run's file comes from a stranger, and each search compares all keys.
TEST_F(ConfigTest, LooksForTheMeaningOfTheFirstHundredUnknownKeysOnly) {
  std::string text;
  for (char first = 'a'; first <= 'z'; ++first) {
    for (char second = 'a'; second <= 'z'; ++second) text += std::string("rate") + first + second + " = 1\n";
  }
  Value(Root(text), "rate", 1.0);
  const std::vector<std::string> lines = absl::StrSplit(Faults(), '\n');
  EXPECT_EQ(lines.size(), 26u * 26u);
  EXPECT_EQ(
      std::ranges::count_if(lines, [](const auto& line) { return line.ends_with("did you mean rate?"); }),
      100);
}

TEST_F(ConfigTest, RefusesATableWhereAnotherTypeStands) {
  const ConfigSection root = Root("uplink = 1\nsite = 2\nleaves = [1, \"a\"]\n");
  Value(root.Section("uplink"), "spool", 1);
  EXPECT_TRUE(root.List("site").empty());
  EXPECT_THAT(Value(root, "leaves", Texts()), ElementsAre("a"));
  EXPECT_THAT(Faults(), HasSubstr("uplink: expected a table [uplink], found 1"));
  EXPECT_THAT(Faults(), HasSubstr("site: expected tables [[site]], found 2"));
  EXPECT_THAT(Faults(), HasSubstr("leaves: expected texts in the array, found 1"));
}

TEST_F(ConfigTest, OneTableWhereThereMayBeSeveralIsReadAllTheSame) {
  const ConfigSection root = Root("[site]\nname = 3\ncolour = \"red\"\n");
  const std::vector<ConfigSection> sites = root.List("site");
  ASSERT_EQ(sites.size(), 1u);
  Value(sites[0], "name", std::string());
  EXPECT_EQ(Faults(),
            "node.toml:1: site: there may be several: write [[site]], not [site]\n"
            "node.toml:2: site[0].name: expected text in quotes, found 3\n"
            "node.toml:3: site.colour: unknown key");
}

TEST_F(ConfigTest, ATableIsNamedAsItsHeading) {
  const ConfigSection root = Root("[[site]]\nroom = 1\n[site.owner]\n");
  const ConfigSection site = root.List("site").at(0);
  (void)site.Section("room");
  (void)site.List("owner");
  EXPECT_THAT(Faults(), HasSubstr("site[0].room: expected a table [site.room], found 1"));
  EXPECT_THAT(Faults(),
              HasSubstr("site[0].owner: there may be several: write [[site.owner]], not [site.owner]"));
}

TEST_F(ConfigTest, ABrokenFileNamesThePlace) {
  const auto file = ConfigFile::Parse("a = 1\nb = [1,\n", "node.toml");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("node.toml:"));
}

TEST_F(ConfigTest, ATextWithoutQuotesIsShownWithThem) {
  const auto said = [](const std::string& text) {
    return std::string(ConfigFile::Parse(text, "node.toml").status().message());
  };
  EXPECT_THAT(
      said("a = 1\nlisten = 127.0.0.1:7400  # here\nb = 2\n"),
      AllOf(HasSubstr("node.toml:2:"), EndsWith("a text stands in quotes: listen = \"127.0.0.1:7400\"")));
  EXPECT_THAT(said("name = fast"), EndsWith("name = \"fast\""));
  EXPECT_THAT(said("name = a\x1b[1m"), Not(HasSubstr("\x1b")));
  for (const char* other : {"a = \"open", "a = [1,\n", "a = {", "[open", "a", "a =", "=", ""}) {
    EXPECT_THAT(said(other), Not(HasSubstr("quotes:"))) << other;
  }
}

TEST_F(ConfigTest, AMissingFileIsNamed) {
  const auto file = ConfigFile::Read("/nonexistent/node.toml");
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("/nonexistent/node.toml"));
}

// The daemons end with 78 for these: nobody would write into the pipe, and a restart mends nothing.
TEST_F(ConfigTest, WhatIsNoFileIsAFaultThatSomebodyMustMend) {
  const std::string folder = OwnFolder(), pipe = folder + "pipe.toml", large = folder + "large.toml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_TRUE(runtime::WriteFileAtomically(large, std::string(kMaxTextBytes + 1, '\n')).ok());
  for (const auto& [path, what] :
       std::map<std::string, std::string>{{folder, "is a directory, expected a file"},
                                          {pipe, "is a pipe or a device"},
                                          {large, "larger than the 1048576 bytes"}}) {
    const absl::Status status = ConfigFile::Read(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": " + what));
  }
}

TEST_F(ConfigTest, AFaultOfTheReaderIsReportedAtItsKey) {
  const ConfigSection root = Root("\n\nlisten = \"0.0.0.0:1\"\n");
  Value(root, "listen", "");
  root.Fault("listen", "leaves the loopback without [tls]");
  EXPECT_EQ(Faults(), "node.toml:3: listen: leaves the loopback without [tls]");
}

TEST_F(ConfigTest, AFaultFoundLaterIsReportedWhereTheKeyStands) {
  Root("[[panel]]\nname = \"a\"\n[[panel]]\nname = \"b\"\n[panel.source]\nfile = \"x\"\n");
  for (const ConfigSection& panel : file_->Root().List("panel")) {
    Value(panel, "name", "");
    Value(panel.Section("source"), "file", "");
  }
  file_->Fault("panel[1].source.file", "is not there");
  file_->Fault("panel[1].source.rate_hz", "is odd");
  file_->Fault("panel[7].name", "is nowhere");
  EXPECT_THAT(Faults(), HasSubstr("node.toml:6: panel[1].source.file: is not there"));
  EXPECT_THAT(Faults(), HasSubstr("node.toml:5: panel[1].source.rate_hz: is odd"))
      << "not given: its table's line";
  EXPECT_THAT(Faults(), HasSubstr("panel[7].name: is nowhere"));
}

TEST_F(ConfigTest, AFaultOfAFileIsReportedAtTheKeyThatNamesIt) {
  const ConfigSection tls = Root("[tls]\nkey = \"a.key\"\nca = \"a\"\n").Section("tls");
  Value(tls, "key", "");
  Value(tls, "ca", "");
  file_->Fault("tls", {{"tls.ca", "a"}, {"tls.key", "a.key"}, {"tls.certificate", ""}},
               absl::NotFoundError("a.key: is not there\na: is empty\nall is lost"));
  EXPECT_EQ(Faults(),
            "node.toml:1: tls: all is lost\n"
            "node.toml:2: tls.key: a.key: is not there\n"
            "node.toml:3: tls.ca: a: is empty");
}

TEST_F(ConfigTest, KnowsWhetherATableHasAFault) {
  const ConfigSection root = Root("[[panel]]\nname = 1\n[[panel]]\nname = \"b\"\n[panels]\n");
  for (const ConfigSection& panel : root.List("panel")) Value(panel, "name", "");
  EXPECT_TRUE(file_->HasFault("panel[0]"));
  EXPECT_TRUE(file_->HasFault("panel"));
  EXPECT_FALSE(file_->HasFault("panel[1]"));
  EXPECT_FALSE(file_->HasFault("pan"));
}

TEST_F(ConfigTest, RefusesANameThatCannotBeSent) {
  const ConfigSection root = Root("a = \"" + std::string(129, 'x') + "\"\nb = \"x\\ny\"\nc = \"hall 2\"\n");
  std::string name;
  for (const char* key : {"a", "b", "c"}) root.ReadName(key, name);
  EXPECT_EQ(name, "hall 2");
  EXPECT_THAT(Faults(), HasSubstr("node.toml:1: a: expected a name of at most 128 bytes"));
  EXPECT_THAT(Faults(), HasSubstr("node.toml:2: b: expected a name of at most 128 bytes"));
}

TEST_F(ConfigTest, TellsWhichChangedKeysNeedARestart) {
  const auto read = [](std::string_view text) {
    ConfigFile file = *ConfigFile::Parse(text, "node.toml");
    const ConfigSection root = file.Root();
    std::string level = "info";
    root.Read("level", level, Hot("of the log"));
    Value(root, "port", 7);
    Value(root, "late", false);
    for (const ConfigSection& site : root.List("site")) Value(site, "sources", Texts());
    return file;
  };
  const ConfigFile started =
      read("level = \"info\"\nport = 9\n[[site]]\nsources = [\"a\"]\n[[site]]\nsources = [\"b\"]\n");
  EXPECT_THAT(started.NeedRestart(started), IsEmpty());
  const ConfigFile now =
      read("level = \"warn\"\nlate = false\n[[site]]\nsources = [\"a\"]\n[[site]]\nsources = [\"c\"]\n");
  EXPECT_THAT(started.NeedRestart(now), ElementsAre("port", "site[1].sources"));
}

TEST_F(ConfigTest, TellsWhichKeysWereAskedFor) {
  const ConfigSection root = Root("rate = 3\n[[site]]\nkind = \"b\"\n[[site]]\nname = \"x\"\nkind = \"a\"\n");
  double rate = 1;
  root.Read("rate", rate, {.min = 0, .max = 5, .above_min = true});
  for (const ConfigSection& site : root.List("site")) {
    enum class Kind { kA, kB } kind = Kind::kA;
    site.Choose("kind", kind, {"a", "b"});
    Value(site, "name", "");
  }
  int depth = 2;
  root.Section("tls").Read("depth", depth, {.min = 1});
  const std::vector<ConfigKey> keys = file_->Keys();
  ASSERT_EQ(keys.size(), 4u);
  const auto about = [&keys](std::size_t i) {
    const ConfigKey& key = keys[i];
    return key.name + "|" + key.type + "|" + key.limits + "|" + key.default_value + "|" + key.given + "|" +
           std::to_string(key.line);
  };
  EXPECT_EQ(about(0), "rate|number|above 0, at most 5|1.0|3.0|1");
  EXPECT_EQ(about(1), "site[].kind|text|a, b|\"a\"|\"b\"|3");
  EXPECT_EQ(about(2), "site[].name|text||\"\"|\"x\"|5");
  EXPECT_EQ(about(3), "tls.depth|integer|at least 1|2||0");
}

}  // namespace
}  // namespace tributary::config
