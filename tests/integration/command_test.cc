// Commands with wrong names, wrong files and output that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/learners.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kPrograms = {"tributary", "tributary-node", "tributary-aggregator"};

struct Said {
  int exit_code;
  std::string text;  // on standard output and standard error
};

class CommandTest : public ::testing::Test {
 protected:
  Said Run(const std::string& program, const std::vector<std::string>& arguments) {
    Process process(program, arguments, folder_.Path("said-" + std::to_string(commands_++)));
    const int exit_code = process.Wait(std::chrono::seconds(60));
    return {exit_code, process.Log()};
  }
  Said Run(const std::vector<std::string>& arguments) { return Run("tributary", arguments); }
  // With standard output on a full disk.
  Said RunWithoutRoom(const std::string& command) {
    return Run("/bin/sh", {"-c", std::string(TRIBUTARY_BIN_DIR) + "/" + command + " > /dev/full"});
  }

  ScratchFolder folder_;
  int commands_ = 0;
};

// With an aggregator of the site "room".
class ConnectedCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    ::setenv("TRIBUTARY_AGGREGATOR", Address(aggregator_.ingest_port()).c_str(), 1);
  }
  void TearDown() override { ::unsetenv("TRIBUTARY_AGGREGATOR"); }

  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}, FederationKeys(folder_)};
};

TEST_F(ConnectedCommandTest, AnUnknownSiteIsRefusedWithTheSitesThatThereAre) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status", "--site", "nope"},
                                                  {"status", "--site", "nope", "--json"},
                                                  {"watch", "nope", "--seconds", "1"},
                                                  {"load", "--site", "nope", "--seconds", "0.1"}}) {
    const Said said = Run(command);
    EXPECT_EQ(said.exit_code, 1) << command.front();
    EXPECT_THAT(said.text, HasSubstr("\"nope\" is not a site of this aggregator, which has room"));
  }
  EXPECT_EQ(Run({"status", "--site", "room"}).exit_code, 0);
}

TEST_F(ConnectedCommandTest, WatchTakesTheSiteAsAnArgumentAsAnOptionOrNotAtAll) {
  Reporter south("south", aggregator_.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return south.Reporting(); }));
  const std::string summary = folder_.Path("summary.json");
  for (const std::vector<std::string>& site :
       {std::vector<std::string>{"room"}, {"--site", "room"}, std::vector<std::string>{}}) {
    std::vector<std::string> command = {"watch", "--seconds", "0.1", "--json"};
    command.insert(command.end(), site.begin(), site.end());
    Process watch("tributary", command, folder_.Path("watch-" + std::to_string(commands_++)));
    EXPECT_TRUE(WaitFor([&] {
      south.Offer(UnitFrame(estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs())));
      return !watch.Running();
    })) << watch.Log();
    EXPECT_EQ(watch.Wait(std::chrono::seconds(20)), 0) << watch.Log();
    EXPECT_THAT(watch.Log(), HasSubstr("\"site\":\"room\""));
  }
}

TEST_F(ConnectedCommandTest, EvaluateEncoderTakesAModelOfARun) {
  const Said said = Run({"evaluate", "encoder", "run:nosuch"});
  EXPECT_EQ(said.exit_code, 1) << "asked of the aggregator";
  EXPECT_THAT(said.text, HasSubstr("nosuch"));
}

TEST_F(ConnectedCommandTest, DoctorFindsNoFaultInANodeThatNeedsNoBoard) {
  ::unsetenv("XILINX_XRT");
  const std::string node = folder_.Write(
      "node.toml",
      "node = \"south\"\nsite = \"room\"\n[uplink]\naggregator = \"" + Address(aggregator_.ingest_port()) +
          "\"\n[[panel]]\nname = \"south\"\nworkload = \"positioning\"\nmodel = \"" + TRIBUTARY_SOURCE_DIR +
          "/models/positioning.safetensors\"\n[panel.source]\nkind = \"room\"\n");
  const Said good = Run({"doctor", "--config", node});
  EXPECT_EQ(good.exit_code, 0) << good.text;
  EXPECT_THAT(good.text, AllOf(HasSubstr("not needed: the configuration uses no board"),
                               HasSubstr("answers; its sites: room")));
  EXPECT_EQ(Run({"doctor"}).exit_code, 0) << "without --xclbin no board is asked for";

  const std::string stray =
      folder_.Write("stray.toml", "node = \"south\"\nsite = \"hall\"\n[uplink]\naggregator = \"" +
                                      Address(aggregator_.ingest_port()) +
                                      "\"\n[[panel]]\nname = \"south\"\nworkload = \"positioning\"\nmodel = "
                                      "\"none.safetensors\"\n[panel.source]\nkind = \"room\"\n");
  const Said bad = Run({"doctor", "--config", stray});
  EXPECT_EQ(bad.exit_code, 69) << bad.text;
  EXPECT_THAT(bad.text, AllOf(HasSubstr("none.safetensors"), HasSubstr("\"hall\" is not one of them")));
}

TEST_F(ConnectedCommandTest, DoctorComparesSlotsAndSourcesWithTheSites) {
  Reporter south("south", aggregator_.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return south.Reporting(); }));
  const std::string node = folder_.Write(
      "node.toml",
      "node = \"south\"\nsite = \"room\"\nslot_ms = 10.0\n[uplink]\naggregator = \"" +
          Address(aggregator_.ingest_port()) +
          "\"\n[[panel]]\nname = \"attic\"\nworkload = \"positioning\"\nmodel = \"" + TRIBUTARY_SOURCE_DIR +
          "/models/positioning.safetensors\"\n[panel.source]\nkind = \"room\"\nrate_hz = 100.0\n");
  Process doctor("tributary", {"doctor", "--config", node}, folder_.Path("doctor"));
  EXPECT_TRUE(WaitFor([&] {
    south.Offer(UnitFrame(estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs())));
    return !doctor.Running();
  })) << doctor.Log();
  EXPECT_EQ(doctor.Wait(std::chrono::seconds(20)), 69) << doctor.Log();
  EXPECT_THAT(doctor.Log(), AllOf(HasSubstr("\"room\" counts slots of 0.5 ms, the node of 10 ms"),
                                  HasSubstr("\"attic\" is not a source of \"room\", which has south")));
}

TEST_F(ConnectedCommandTest, DoctorAsksALearnerForNoSlotsAndForRoomOnlyForItsState) {
  const std::string learner = "node = \"ash\"\n[federation]\naggregator = \"" +
                              Address(aggregator_.ingest_port()) + "\"\nimages = \"glyphs\"\n";
  const Said said = Run({"doctor", "--config", folder_.Write("learner.toml", learner)});
  EXPECT_EQ(said.exit_code, 0) << said.text;
  EXPECT_THAT(said.text, AllOf(Not(HasSubstr("clock offset")), HasSubstr("the spool is in memory")));
  const Said kept =
      Run({"doctor", "--config", folder_.Write("kept.toml", learner + "state = \"state.bin\"\n")});
  EXPECT_THAT(kept.text, HasSubstr("MiB free in "));
}

TEST_F(CommandTest, FindsAnOutputThatCannotBeWrittenBeforeTheWork) {
  const std::string out = folder_.Path("none/out");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"train", "positioning", "--out", out},
        {"train", "self_supervised", "--out", out},
        {"train", "modulation", "--out", out},
        {"train", "beacon", "--ranges", "none.csv", "--truth", "none.csv", "--out", out},
        {"infer", "--features", "none.npy", "--out", out},
        {"infer", "--iq", "none.npy", "--out", out},
        {"model", "export", "run:letters", "--onnx", out, "--aggregator", "127.0.0.1:1"},
        {"watch", "lab", "--summary", out, "--aggregator", "127.0.0.1:1"}}) {
    const Said said = Run(command);
    EXPECT_EQ(said.exit_code, 73) << command.front() << " " << command[1] << ": " << said.text;
    EXPECT_THAT(said.text, HasSubstr(out));
  }
  const Said node = Run("tributary-node", {"--config", "none.toml", "--summary", out});
  EXPECT_EQ(node.exit_code, 73) << node.text;
}

TEST_F(CommandTest, SaysForWhichProgramAConfigurationIs) {
  const std::string site = folder_.Write("site.toml", "[[site]]\nname = \"lab\"\nsources = [\"a\"]\n");
  const std::string node = folder_.Write("node.toml", "node = \"a\"\nsite = \"lab\"\n");
  const Said by_node = Run("tributary-node", {"--config", site, "--check"});
  EXPECT_EQ(by_node.exit_code, 78);
  EXPECT_EQ(by_node.text, site + ": is a configuration for tributary-aggregator, not for tributary-node\n");
  const Said by_aggregator = Run("tributary-aggregator", {"--config", node, "--check"});
  EXPECT_EQ(by_aggregator.exit_code, 78);
  EXPECT_EQ(by_aggregator.text,
            node + ": is a configuration for tributary-node, not for tributary-aggregator\n");
  const Said by_start = Run({"run", "start", node, "--check"});
  EXPECT_EQ(by_start.exit_code, 78);
  EXPECT_THAT(by_start.text, HasSubstr("is a configuration for tributary-node"));
}

class TlsCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }
  Said RunAs(const Certificates& certificates, std::vector<std::string> command) {
    const std::vector<std::string> options = certificates.Options("laptop");
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--aggregator", Address(aggregator_.ingest_port())});
    return Run(command);
  }

  const Certificates ours_{folder_, "ours", {"aggregator", "laptop"}};
  const Certificates strange_{folder_, "strange", {"laptop"}};
  // Flat out, epochs run ahead of time; on a busy machine a panel is late.
  AggregatorProcess aggregator_{folder_,
                                "aggregator",
                                {"panel-0", "panel-1", "panel-2"},
                                ours_.Table("aggregator") + "[access]\nviewers = [\"laptop\"]\n",
                                "max_age_s = 0.0\nmax_lead_s = 0.0\nlate = \"revise\"\n"
                                "[[site.owner]]\nnode = \"laptop\"\n"
                                "sources = [\"panel-0\", \"panel-1\", \"panel-2\"]\n"};
};

TEST_F(TlsCommandTest, LoadGoesThroughTlsAsOneNodeWithAllPanels) {
  for (const char* rate : {"100", "max"}) {
    const Said said = RunAs(ours_, {"load", "--site", "room", "--panels", "3", "--users", "2", "--rate", rate,
                                    "--frames-per-message", "2", "--seconds", "0.5", "--json"});
    EXPECT_THAT(said.text, AllOf(HasSubstr("\"lost_frames\": 0"), Not(HasSubstr("first_refusal")))) << rate;
    EXPECT_THAT(said.text, Not(HasSubstr("\"sent_frames\": 0"))) << rate;
  }
  EXPECT_THAT(RunAs(ours_, {"status"}).text, HasSubstr("panel-0, panel-1, panel-2"));
}

// The other CA has the name of ours and another key.
TEST_F(TlsCommandTest, SaysWhichFileIsWrongAndNothingOfOpenSslsOrGrpcs) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status"},
                                                  {"watch", "room", "--seconds", "1"},
                                                  {"load", "--site", "room"},
                                                  {"doctor"}}) {
    const Said said = RunAs(strange_, command);
    EXPECT_EQ(said.exit_code, 69) << command.front();
    EXPECT_THAT(said.text, HasSubstr("certificate is not signed by the CA in the ca file"))
        << command.front();
    EXPECT_THAT(said.text, HasSubstr("(here: " + strange_.File("ca.pem") + ")")) << command.front();
    for (const char* raw : {"asn1", "SSL_ERROR", "ssl_transport_security", ".cc:"}) {
      EXPECT_THAT(said.text, Not(HasSubstr(raw))) << command.front();
    }
  }
}

TEST_F(CommandTest, EveryProgramSaysItsNameVersionAndCommit) {
  for (const std::string& program : kPrograms) {
    const Said said = Run(program, {"--version"});
    EXPECT_EQ(said.exit_code, 0);
    const std::regex version(program + R"( \d+\.\d+\.\d+ \((commit [0-9a-f]{7,}|built without git)\)\n)");
    EXPECT_TRUE(std::regex_match(said.text, version)) << said.text;
  }
}

TEST_F(CommandTest, EveryProgramAsksWhatAMistypedOptionWasMeantToBe) {
  for (const std::string& program : kPrograms) {
    const Said said = Run(program, {"--verison"});
    EXPECT_EQ(said.exit_code, 64) << program;
    EXPECT_THAT(said.text, HasSubstr(program + ": \"--verison\" is not an option; did you mean --version?"))
        << program;
  }
  EXPECT_THAT(Run({"watsh"}).text, HasSubstr("did you mean watch?"));
}

TEST_F(CommandTest, HelpSaysWhatTheOptionHelpSays) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"run"}, {"run", "start"}, {"conflate"}, {"help"}}) {
    std::vector<std::string> by_command = words, by_option = words;
    by_command.insert(by_command.begin(), "help");
    by_option.push_back("--help");
    const Said said = Run(by_command);
    EXPECT_EQ(said.exit_code, 0);
    EXPECT_EQ(said.text, Run(by_option).text);
  }
  const Said unknown = Run({"help", "run", "strat"});
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_EQ(unknown.text, "tributary help: \"strat\" is not a command; did you mean start?\n");
}

TEST_F(CommandTest, CompletionOffersTheCommandsThatBeginSo) {
  const std::string program = std::string(TRIBUTARY_BIN_DIR) + "/tributary";
  const auto offered = [&](const std::string& words) {
    return Run("/bin/bash",
               {"-c", "source <(" + program + " completion bash); COMP_WORDS=(" + program + " " + words +
                          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tributary; echo \"${COMPREPLY[*]}\""})
        .text;
  };
  EXPECT_EQ(offered("run st"), "start stop\n");
  EXPECT_EQ(offered("conflate --method ''"), "intersection product\n");
  EXPECT_EQ(offered("model rollback --c"), "--certificate --ca\n");
  EXPECT_EQ(Run({"completion", "tcsh"}).exit_code, 64);
  for (const char* address : {"127.0.0.1:92936", "127.0.0.1", "foo", ""}) {
    EXPECT_EQ(Run({"status", "--aggregator", address}).exit_code, 64) << address;
  }
}

TEST_F(CommandTest, ATokenFileThatIsNotThereIsNamed) {
  const std::string file = folder_.Path("none.toml");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"token", "list", "--file", file},
                                                  {"token", "revoke", "a", "--file", file}}) {
    const Said said = Run(command);
    EXPECT_EQ(said.exit_code, 66);
    EXPECT_THAT(said.text, HasSubstr(file + ": No such file or directory"));
  }
  EXPECT_FALSE(std::filesystem::exists(file + ".lock"));
}

TEST_F(CommandTest, CertificatesAndTokensAreSaidInJsonToo) {
  const std::string folder = folder_.Path("certs"), file = folder_.Path("tokens.toml");
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const Said said = Run(arguments);
    EXPECT_EQ(said.exit_code, 0) << said.text;
    return nlohmann::json::parse(said.text, nullptr, false);
  };
  const auto certs = [&] { return ask({"certs", "--out", folder, "--name", "south", "--name", "east"}); };
  nlohmann::json made = certs();
  EXPECT_EQ(made["ca"], folder + "/ca.pem");
  EXPECT_EQ(made["ca_made"], true);
  ASSERT_EQ(made["certificates"].size(), 2u);
  EXPECT_EQ(made["certificates"][1]["file"], folder + "/east.pem");
  EXPECT_EQ(made["certificates"][1]["result"], "made");
  made = certs();
  EXPECT_EQ(made["ca_made"], false);
  EXPECT_EQ(made["certificates"][1]["result"], "there already");

  const nlohmann::json revoked = ask({"certs", "revoke", "south", "--out", folder});
  EXPECT_EQ(revoked["crl"], folder + "/crl.pem");
  EXPECT_EQ(revoked["revoked"][0]["certificates"], 1);

  const nlohmann::json invited = ask({"token", "invite", "--file", file, "--ca", folder + "/ca.pem",
                                      "--address", "hub:7480", "--board", "a", "--board", "b"});
  EXPECT_THAT(invited["invitation"].get<std::string>(), HasSubstr("hub:7480"));
  EXPECT_EQ(invited["role"], "join");
  EXPECT_EQ(invited["boards"], nlohmann::json({"a", "b"}));
  const Said no_authority = Run({"token", "invite", "--file", file, "--ca", folder + "/east.pem", "--address",
                                 "hub:7480", "--board", "c"});
  EXPECT_NE(no_authority.exit_code, 0);
  EXPECT_THAT(no_authority.text, HasSubstr("of an authority"));
  const nlohmann::json taken = ask({"token", "revoke", "join a", "--file", file});
  EXPECT_EQ(taken["revoked"]["id"], invited["id"]);
}

// The words of the library that parses command lines are for its users, not for ours.
TEST_F(CommandTest, AWrongValueIsAnsweredWithWhatIsAllowed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> faults = {
      {{"conflate", "--method", "prod"},
       "conflate: --method: \"prod\" is not known; use intersection or product\n"},
      {{"watch", "--seconds", "-1"}, "watch: --seconds: \"-1\" is not allowed; use a number of at least 0\n"},
      {{"load", "--panels", "65"},
       "load: --panels: \"65\" is not allowed; use a whole number from 1 to 64\n"},
      {{"load", "--rate", "fast"},
       "load: --rate: \"fast\" is not allowed; use slots per second up to 1000000, or max\n"},
      {{"infer", "--format", "int4"}, "\"int4\" is not known; use float, int32, int16, int8 or int8_16\n"},
      {{"status", "--site"}, "status: --site needs a value\n"},
      {{"status", "--json=1"}, "status: --json takes no value\n"},
      {{"run", "show", "a", "--jsn"}, "run show: \"--jsn\" is not an option; did you mean --json?\n"},
  };
  for (const auto& [command, text] : faults) {
    const Said said = Run(command);
    EXPECT_EQ(said.exit_code, 64) << text;
    EXPECT_THAT(said.text, HasSubstr(text));
  }
}

TEST_F(CommandTest, OutputThatCannotBeWrittenIsAFailure) {
  const std::string line = folder_.Write(
      "in.jsonl", R"({"site":"a","epoch":1,"subject":1,"source":"p","mean":[5],"scale_tril":[1]})"
                  "\n");
  for (const std::string& command :
       {"tributary conflate < " + line, std::string("tributary --help"),
        std::string("tributary model inspect"), std::string("tributary-node --version"),
        std::string("tributary-aggregator --help")}) {
    const Said said = RunWithoutRoom(command);
    EXPECT_EQ(said.exit_code, 73) << command;
    EXPECT_THAT(said.text, HasSubstr("standard output cannot be written")) << command;
  }
}

TEST_F(CommandTest, ATokenThatCannotBeShownIsNotKept) {
  const std::string file = folder_.Path("tokens.toml");
  const Said said = RunWithoutRoom("tributary token create --name wall --file " + file);
  EXPECT_EQ(said.exit_code, 73);
  EXPECT_THAT(said.text, HasSubstr("the token is gone from " + file + " again"));
  EXPECT_THAT(Run({"token", "list", "--file", file}).text, HasSubstr("no tokens"));
}

}  // namespace
}  // namespace tributary::testing
