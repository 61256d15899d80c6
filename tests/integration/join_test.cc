// Boards that join by a token and renew their certificates by themselves, with the real daemons and commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/config/pem.h"
#include "core/config/tls.h"
#include "core/runtime/file.h"
#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/odd_certificate.h"

namespace tributary::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kRenewed = "tributary_certificate_renewals_total{result=\"renewed\"}";
constexpr const char* kFailed = "tributary_certificate_renewals_total{result=\"failed\"}";

struct CommandResult {
  int status = -1;
  std::string output;  // standard output and error
};

class JoinTest : public ::testing::Test {
 protected:
  void SetUp() override {
    certificates_.Revoke({});  // an empty list, which the aggregator follows
    StartAggregator();
  }

  void StartAggregator() {
    const std::size_t before = ReadText(folder_.Path("aggregator.log")).size();
    aggregator_.Start();
    ASSERT_TRUE(WaitFor([&] {
      return aggregator_.process().Log().find("aggregator listens on", before) != std::string::npos;
    })) << aggregator_.process().Log();
  }
  CommandResult Run(const std::vector<std::string>& arguments) const {
    const std::string log = folder_.Path("command.log");
    std::filesystem::remove(log);
    Process process("tributary", arguments, log);
    const int status = process.Wait(std::chrono::seconds(30));
    return {status, process.Log()};
  }
  // A token for these boards, as the operator gets it.
  std::string Invite(const std::vector<std::string>& boards, const std::string& name = "new") const {
    std::vector<std::string> arguments = {"token",     "invite",
                                          "--file",    folder_.Path("tokens.toml"),
                                          "--ca",      certificates_.File("ca.pem"),
                                          "--address", "localhost:" + std::to_string(aggregator_.http_port()),
                                          "--name",    name};
    for (const std::string& board : boards) arguments.insert(arguments.end(), {"--board", board});
    const CommandResult made = Run(arguments);
    EXPECT_EQ(made.status, 0) << made.output;
    return made.output.substr(0, made.output.find('\n'));
  }
  CommandResult Join(const std::string& token, const std::string& folder,
                     const std::string& name = "") const {
    std::vector<std::string> arguments = {"join", token, "--out", folder_.Path(folder)};
    if (!name.empty()) arguments.insert(arguments.end(), {"--name", name});
    return Run(arguments);
  }
  // After a token was made: the aggregator looks at the file ten times a second.
  CommandResult JoinSoon(const std::string& token, const std::string& folder,
                         const std::string& name = "") const {
    CommandResult joined;
    WaitFor([&] {
      joined = Join(token, folder, name);
      return joined.output.find("is not known") == std::string::npos;
    });
    return joined;
  }
  std::string Table(const std::string& folder, const std::string& name,
                    const std::string& renewal = "") const {
    const std::string path = folder_.Path(folder) + "/";
    return "[tls]\ncertificate = \"" + path + name + ".pem\"\nkey = \"" + path + name + ".key\"\nca = \"" +
           path + "ca.pem\"\n" + renewal;
  }
  std::vector<json> Audit(const std::string& action) const {
    std::vector<json> events;
    std::istringstream lines(ReadText(folder_.Path("audit.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      json event = json::parse(line);
      if (event["action"] == action) events.push_back(std::move(event));
    }
    return events;
  }
  // A certificate in place of the board's that is soon to expire, of the same key and authority.
  void LetExpireSoon(const std::string& path) const {
    const std::string key = ReadText(certificates_.File("ca.key"));
    constexpr long kTwoHoursS = 7'200, kLeftS = 600;
    ASSERT_TRUE(
        runtime::WriteFileAtomically(path, DatedCertificate(ReadText(path), key, -kTwoHoursS, kLeftS)).ok());
  }
  static bool Goes(NodeProcess& node) {
    const auto acknowledged = [&] {
      return MetricValue(node.Metrics(), "tributary_uplink_acknowledged_frames_total");
    };
    const double before = acknowledged();
    return WaitFor([&] { return acknowledged() > (before > 0 ? before : 0) + 20; });
  }

  ScratchFolder folder_;
  Certificates certificates_{folder_, "certs", {"aggregator", "wall"}};
  AggregatorProcess aggregator_{
      folder_,
      "aggregator",
      {"south", "east"},
      "tls = true\n" + certificates_.Table("aggregator") + "crl = \"" + certificates_.File("crl.pem") +
          "\"\n[access]\nauthority = \"" +
          std::filesystem::path(certificates_.File("ca.pem")).parent_path().string() +
          "\"\ntokens = \"tokens.toml\"\naudit_log = \"audit.jsonl\"\n"};
};

TEST_F(JoinTest, ABoardReportsWithWhatItGotByItsToken) {
  const std::string token = Invite({"south"});
  const CommandResult joined = JoinSoon(token, "board");
  ASSERT_EQ(joined.status, 0) << joined.output;
  EXPECT_THAT(joined.output, HasSubstr("joined as south"));
  EXPECT_THAT(joined.output, HasSubstr("renew = true"));
  struct stat facts {};
  ASSERT_EQ(stat(folder_.Path("board/south.key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("board/join.key")));

  NodeProcess node(folder_, "south", aggregator_.ingest_port(), Table("board", "south"));
  EXPECT_TRUE(Goes(node));

  EXPECT_THAT(aggregator_.process().Log(), HasSubstr("board \"south\" joined with the invitation "));

  // What the operator can find out later: who joined, by which token, and no secret.
  ASSERT_TRUE(WaitFor([&] { return !Audit("Join").empty(); }));
  const json event = Audit("Join").front();
  EXPECT_EQ(event["subject"], "south");
  EXPECT_EQ(event["name"], "new");
  EXPECT_EQ(event["way"], "token");
  EXPECT_EQ(event["outcome"], "OK");
  const std::string secret = token.substr(token.rfind('_', token.find('.')) + 1, 64);
  ASSERT_THAT(ReadText(folder_.Path("tokens.toml")), Not(HasSubstr(secret)));
  const std::string key = ReadText(folder_.Path("board/south.key"));
  for (const std::string& text : {ReadText(folder_.Path("audit.jsonl")), aggregator_.process().Log(),
                                  ReadText(certificates_.File("issued.txt"))}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
    EXPECT_THAT(text, Not(HasSubstr(key.substr(30, 40))));
  }
}

TEST_F(JoinTest, EachNameOfATokenIsGoodForOneBoardAlsoAfterARestart) {
  const std::string token = Invite({"south", "east"});
  ASSERT_EQ(JoinSoon(token, "first", "east").status, 0);
  const CommandResult second = Join(token, "second", "east");
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.output, HasSubstr("another board has joined as \"east\""));
  EXPECT_THAT(Join(token, "second", "wall").output, HasSubstr("gives no certificate for \"wall\""));
  aggregator_.process().Signal(SIGKILL);
  aggregator_.process().Wait(std::chrono::seconds(10));
  StartAggregator();
  EXPECT_THAT(Join(token, "second", "east").output, HasSubstr("another board has joined as \"east\""));
  EXPECT_THAT(Join(token, "second").output, HasSubstr("joined as south"));
  EXPECT_THAT(Join(token, "third").output, HasSubstr("is used up: 2 boards joined by it"));
}

TEST_F(JoinTest, ABoardWhoseAnswerWasLostAsksAgainForTheSameName) {
  const std::string token = Invite({"south", "east"});
  ASSERT_THAT(JoinSoon(token, "board").output, HasSubstr("joined as south"));
  // As it was before the answer came.
  std::filesystem::rename(folder_.Path("board/south.key"), folder_.Path("board/join.key"));
  std::filesystem::remove(folder_.Path("board/south.pem"));
  EXPECT_THAT(Join(token, "board").output, HasSubstr("joined as south"));
  std::filesystem::rename(folder_.Path("board/south.key"), folder_.Path("board/join.key"));
  EXPECT_THAT(Join(token, "board", "east").output, HasSubstr("this board has joined as \"south\""));
}

TEST_F(JoinTest, JoiningAgainKeepsAValidCertificateAndSaysSo) {
  const std::string token = Invite({"south"});
  ASSERT_EQ(JoinSoon(token, "board").status, 0);
  const std::string before = ReadText(folder_.Path("board/south.pem"));
  for (const char* name : {"", "south"}) {
    const CommandResult again = Join(token, "board", name);
    EXPECT_EQ(again.status, 0);
    EXPECT_THAT(again.output, HasSubstr("already joined as south, valid until 2"));
    const json shown =
        json::parse(Run({"join", token, "--out", folder_.Path("board"), "--json"}).output, nullptr, false);
    EXPECT_EQ(shown["name"], "south");
    EXPECT_EQ(shown["joined"], false);
    EXPECT_EQ(shown["key"], folder_.Path("board/south.key"));
    EXPECT_THAT(again.output, HasSubstr("renew = true"));
  }
  EXPECT_EQ(ReadText(folder_.Path("board/south.pem")), before);
}

TEST_F(JoinTest, AValidCertificateOfAnotherAuthorityStays) {
  const Certificates other(folder_, "other", {"south"});
  const std::string before = ReadText(other.File("south.pem")), ca = ReadText(other.File("ca.pem"));
  const std::string token = Invite({"south", "east"});
  for (const char* name : {"", "south", "east"}) {
    const CommandResult refused = Join(token, "other", name);
    EXPECT_EQ(refused.status, 73);
    EXPECT_THAT(refused.output, HasSubstr("of another authority than the token"));
    EXPECT_THAT(refused.output, HasSubstr("remove the file first"));
  }
  EXPECT_EQ(ReadText(other.File("south.pem")), before);
  EXPECT_EQ(ReadText(other.File("ca.pem")), ca);
  std::filesystem::remove(other.File("south.pem"));
  EXPECT_THAT(JoinSoon(token, "other", "south").output, HasSubstr("joined as south"));
}

// Whoever has the daemon's account could lead root anywhere.
TEST_F(JoinTest, ALinkInTheBoardsFolderIsRefusedBeforeAnythingIsGiven) {
  const std::string token = Invite({"south"});
  folder_.Write("target", "of root");
  std::filesystem::create_directories(folder_.Path("board"));
  for (const char* file : {"join.key", "ca.pem", "south.key", "south.pem"}) {
    const std::string link = folder_.Path("board/") + file;
    std::filesystem::create_symlink(folder_.Path("target"), link);
    const CommandResult refused = Join(token, "board", "south");
    EXPECT_EQ(refused.status, 73) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(link + ": is a link"));
    EXPECT_EQ(ReadText(folder_.Path("target")), "of root") << file;
    std::filesystem::remove(link);
  }
  EXPECT_EQ(JoinSoon(token, "other", "south").status, 0) << "the name is still free";
}

TEST_F(JoinTest, ARevokedExpiredOrForeignTokenIsRefusedWithItsReason) {
  const std::string token = Invite({"south"});
  ASSERT_EQ(JoinSoon(token, "board").status, 0);
  ASSERT_EQ(Run({"token", "revoke", "new", "--file", folder_.Path("tokens.toml")}).status, 0);
  ASSERT_TRUE(WaitFor([&] { return Join(token, "other").status == 1; }));
  EXPECT_THAT(Join(token, "other").output, HasSubstr("is not known or was revoked"));

  // As the file says an hour later.
  const std::string late = Invite({"east"}, "late");
  std::string file = ReadText(folder_.Path("tokens.toml"));
  const std::size_t at = file.find("expires_unix_s = ");
  file.replace(at, file.find('\n', at) - at, "expires_unix_s = 1");
  folder_.Write("tokens.toml", file);
  EXPECT_THAT(JoinSoon(late, "late").output, HasSubstr("the token \"late\" has expired"));
  EXPECT_THAT(Run({"token", "list", "--file", folder_.Path("tokens.toml")}).output, HasSubstr("late: east"));

  // Somebody in between has another authority: the secret is not sent.
  std::string foreign = Invite({"west"}, "foreign");
  char& digit = foreign[foreign.find('.') + 1];
  digit = digit == '0' ? '1' : '0';
  EXPECT_THAT(Join(foreign, "foreign").output,
              HasSubstr("its authority has another hash. The token was not sent"));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("foreign/join.key")));

  EXPECT_EQ(Join("nonsense", "none").status, 64);
  ASSERT_TRUE(WaitFor([&] { return Audit("POST /api/v1/join").size() >= 2; }));
  EXPECT_EQ(Audit("POST /api/v1/join").back()["outcome"], "UNAUTHENTICATED");
}

TEST_F(JoinTest, ACertificateIsRenewedUnderLoadWithoutALostFrame) {
  ASSERT_EQ(JoinSoon(Invite({"south"}), "board").status, 0);
  const std::string path = folder_.Path("board/south.pem");
  LetExpireSoon(path);
  const std::string before = ReadText(path);
  NodeProcess node(folder_, "south", aggregator_.ingest_port(), Table("board", "south", "renew = true\n"),
                   {.rate_hz = 2'000});
  ASSERT_TRUE(WaitFor([&] { return MetricValue(node.Metrics(), kRenewed) == 1; })) << node.process().Log();
  ASSERT_TRUE(WaitFor([&] {
    return MetricValue(node.Metrics(),
                       "tributary_tls_reloads_total{files=\"certificate\",result=\"taken\"}") == 1;
  })) << node.process().Log();
  ASSERT_TRUE(Goes(node));
  EXPECT_NE(ReadText(path), before);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  const auto material = config::LoadTls({path, folder_.Path("board/south.key"), folder_.Path("board/ca.pem")},
                                        config::kClientOnly);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ(material->name, "south");

  node.process().Signal(SIGTERM);
  EXPECT_EQ(node.process().Wait(std::chrono::seconds(20)), 0) << node.process().Log();
  const json summary = json::parse(ReadText(node.summary_path()));
  EXPECT_EQ(summary["connections"], 1) << summary;
  EXPECT_EQ(summary["dropped_frames"], 0) << summary;
  EXPECT_EQ(summary["acknowledged_frames"], summary["sent_frames"]) << summary;
  ASSERT_TRUE(WaitFor([&] { return !Audit("RenewCertificate").empty(); }));
  EXPECT_EQ(Audit("RenewCertificate").front()["name"], "south");
}

TEST_F(JoinTest, ANodeThatCannotRenewSaysWhyAndReportsOn) {
  ASSERT_EQ(JoinSoon(Invite({"south"}), "board").status, 0);
  const std::string path = folder_.Path("board/south.pem");
  LetExpireSoon(path);
  const std::string before = ReadText(path);
  aggregator_.process().Signal(SIGTERM);
  aggregator_.process().Wait(std::chrono::seconds(10));
  std::string config = ReadText(folder_.Path("aggregator.toml"));
  const std::size_t at = config.find("authority = ");
  folder_.Write("aggregator.toml", config.erase(at, config.find('\n', at) - at));
  StartAggregator();
  NodeProcess node(folder_, "south", aggregator_.ingest_port(), Table("board", "south", "renew = true\n"));
  ASSERT_TRUE(WaitFor([&] { return MetricValue(node.Metrics(), kFailed) == 1; })) << node.process().Log();
  EXPECT_THAT(node.process().Log(), HasSubstr("the aggregator has no authority in [access]"));
  EXPECT_TRUE(Goes(node));
  EXPECT_EQ(ReadText(path), before);
}

// Old and new side by side, then the new one alone: no node stops, and none needs a hand.
TEST_F(JoinTest, AnAuthorityIsReplacedWhileItsNodesReport) {
  const std::string used = Invite({"south"});
  ASSERT_EQ(JoinSoon(used, "board").status, 0);
  NodeProcess node(folder_, "south", aggregator_.ingest_port(), Table("board", "south", "renew = true\n"));
  ASSERT_TRUE(Goes(node));
  const std::string path = folder_.Path("board/south.pem"), before = ReadText(path);

  // 1. The aggregator trusts both, and signs in the name of the new one.
  const std::string old_ca = ReadText(certificates_.File("ca.pem"));
  // Certificates begin at a whole second, an hour before they are made; the new CA must be the newer one.
  const std::int64_t made_s =
      config::UnixSeconds(X509_get0_notBefore(config::CertificatesIn(old_ca).front().get())) + 3'600;
  ASSERT_TRUE(WaitFor([&] { return std::time(nullptr) > made_s; }));
  const Certificates next(folder_, "next", {"aggregator"});
  const std::string new_ca = ReadText(next.File("ca.pem"));
  ASSERT_TRUE(runtime::WriteFileAtomically(certificates_.File("ca.pem.both"), new_ca + old_ca).ok());
  std::string config = ReadText(folder_.Path("aggregator.toml"));
  const auto replace = [&config](const std::string& from, const std::string& to) {
    const std::size_t at = config.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << config;
    config.replace(at, from.size(), to);
  };
  const std::string old_folder = std::filesystem::path(certificates_.File("ca.pem")).parent_path().string();
  const std::string new_folder = std::filesystem::path(next.File("ca.pem")).parent_path().string();
  replace("ca = \"" + certificates_.File("ca.pem"), "ca = \"" + certificates_.File("ca.pem.both"));
  replace("authority = \"" + old_folder, "authority = \"" + new_folder);
  folder_.Write("aggregator.toml", config);
  aggregator_.process().Signal(SIGHUP);
  ASSERT_TRUE(WaitFor([&] { return !Audit("TakeAuthority").empty(); })) << aggregator_.process().Log();
  EXPECT_THAT(Join(used, "again").output, HasSubstr("its authority has another hash"));

  // 2. The node gets both, and renews at once though its certificate is new.
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_.Path("board/ca.pem"), old_ca + new_ca).ok());
  ASSERT_TRUE(WaitFor([&] { return MetricValue(node.Metrics(), kRenewed) == 1; })) << node.process().Log();
  const auto taken = [&] {
    return MetricValue(node.Metrics(), "tributary_tls_reloads_total{files=\"certificate\",result=\"taken\"}");
  };
  ASSERT_TRUE(WaitFor([&] { return taken() == 2; })) << "the CAs, then the certificate";
  EXPECT_NE(ReadText(path), before);
  const std::string only_new = folder_.Path("new.pem");
  ASSERT_TRUE(runtime::WriteFileAtomically(only_new, new_ca).ok());
  EXPECT_TRUE(config::LoadTls({path, folder_.Path("board/south.key"), only_new}, config::kClientOnly).ok());

  // 3. The aggregator's own certificate; 4. nobody trusts the old authority any more.
  replace(certificates_.File("aggregator.pem"), next.File("aggregator.pem"));
  replace(certificates_.File("aggregator.key"), next.File("aggregator.key"));
  replace(certificates_.File("ca.pem.both"), only_new);
  replace("crl = ", "# crl = ");  // of the old authority
  folder_.Write("aggregator.toml", config);
  aggregator_.process().Signal(SIGHUP);
  ASSERT_TRUE(WaitFor([&] { return Audit("TakeCertificate").size() == 2; })) << aggregator_.process().Log();
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_.Path("board/ca.pem"), new_ca).ok());
  ASSERT_TRUE(WaitFor([&] { return taken() == 3; })) << node.process().Log();
  ASSERT_TRUE(Goes(node));
  node.process().Signal(SIGTERM);
  EXPECT_EQ(node.process().Wait(std::chrono::seconds(20)), 0) << node.process().Log();
  const json summary = json::parse(ReadText(node.summary_path()));
  EXPECT_EQ(summary["dropped_frames"], 0) << summary;
  EXPECT_EQ(summary["acknowledged_frames"], summary["sent_frames"]) << summary;

  // The next start has the new authority alone; the certificate of the old one is refused.
  NodeProcess again(folder_, "south", aggregator_.ingest_port(), Table("board", "south", "renew = true\n"));
  EXPECT_TRUE(Goes(again)) << again.process().Log();
  EXPECT_EQ(MetricValue(again.Metrics(), kRenewed), 0) << "it is of the newest authority";
  folder_.Write("old.pem", before);
  EXPECT_FALSE(config::LoadTls({folder_.Path("old.pem"), folder_.Path("board/south.key"), only_new},
                               config::kClientOnly)
                   .ok());
  const CommandResult board = JoinSoon(
      [&] {
        std::vector<std::string> arguments = {
            "token",     "invite",
            "--file",    folder_.Path("tokens.toml"),
            "--ca",      next.File("ca.pem"),
            "--address", "localhost:" + std::to_string(aggregator_.http_port()),
            "--name",    "newer",
            "--board",   "east"};
        const CommandResult made = Run(arguments);
        EXPECT_EQ(made.status, 0) << made.output;
        return made.output.substr(0, made.output.find('\n'));
      }(),
      "newer");
  EXPECT_THAT(board.output, HasSubstr("joined as east"));
}

// All certificates of a name are in the record, also those that it got by itself.
TEST_F(JoinTest, ARevokedBoardIsOutAndRenewsNoMore) {
  ASSERT_EQ(JoinSoon(Invite({"south"}), "board").status, 0);
  const std::string path = folder_.Path("board/south.pem");
  LetExpireSoon(path);
  const std::string before = ReadText(path);
  certificates_.Revoke({"south"});
  ASSERT_TRUE(WaitFor([&] { return Audit("TakeRevocations").size() == 1; }));
  NodeProcess node(folder_, "south", aggregator_.ingest_port(), Table("board", "south", "renew = true\n"));
  ASSERT_TRUE(WaitFor([&] { return MetricValue(node.Metrics(), kFailed) == 1; })) << node.process().Log();
  EXPECT_THAT(node.process().Log(), HasSubstr("is not renewed: the certificate of \"south\" is revoked"));
  EXPECT_EQ(ReadText(path), before);
  // The gate's refusals are told when the aggregator stops, at the latest.
  aggregator_.process().Signal(SIGTERM);
  aggregator_.process().Wait(std::chrono::seconds(20));
  ASSERT_EQ(Audit("RenewCertificate").size(), 1u);
  const json refused = Audit("RenewCertificate").front();
  EXPECT_EQ(refused["name"], "south");
  EXPECT_EQ(refused["outcome"], "PERMISSION_DENIED");
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("1 call refused within a minute"));
}

}  // namespace
}  // namespace tributary::testing
