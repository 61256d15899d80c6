// --check finds every fault that the start would find. The daemons judge a table of broken configurations
// both ways.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/parameters/npy.h"
#include "tests/support/certificates.h"
#include "tests/support/odd_certificate.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNode = "tributary-node";
constexpr const char* kAggregator = "tributary-aggregator";

// One fault: both --check and start must report it. The key stands in line `line` of the text.
struct Broken {
  const char* name;
  const char* program;
  std::string text;
  int line;
  const char* key;
  const char* what;
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

std::string Panel(const std::string& source, const std::string& keys = "") {
  return "node = \"south\"\nsite = \"lab\"\n[http]\nlisten = \"127.0.0.1:0\"\n[[panel]]\nname = \"p\"\n" +
         fmt::format("model = \"{}/models/positioning.safetensors\"\n", TRIBUTARY_SOURCE_DIR) + keys +
         "[panel.source]\n" + source;
}

// Lines 1 to 6.
std::string Learner(const std::string& keys) {
  return "node = \"south\"\n[http]\nlisten = \"127.0.0.1:0\"\n\n[federation]\n" + keys;
}

std::string Site(const std::string& head, const std::string& tail = "") {
  return head + "[[site]]\nname = \"lab\"\nsources = [\"south\"]\n" + tail;
}

// As an array has them: distinct ones as long as a name may be.
std::string LongNames(int count) {
  std::string names;
  for (int i = 0; i < count; ++i) names += fmt::format("\"{:0>128}\", ", i);
  return names;
}

std::string Store(const std::string& keys) {
  return "listen = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\n[federation]\n" + keys;
}

std::string Tls(const std::string& certificate, const std::string& key, const std::string& ca) {
  return fmt::format("[tls]\ncertificate = \"{}\"\nkey = \"{}\"\nca = \"{}\"\n", certificate, key, ca);
}

const std::string kRoom = "kind = \"room\"\nsubjects = 1\nsnapshots = 1\n";
const std::string kGoodTls = Tls("certs/south.pem", "certs/south.key", "certs/ca.pem");
const std::string kChildTls = Tls("certs/child.pem", "certs/child.key", "certs/ca.pem");
const std::string kServerTls = Tls("certs/aggregator.pem", "certs/aggregator.key", "certs/ca.pem");

std::vector<Broken> NodeFaults() {
  const std::string learner = "node = \"south\"\n[federation]\nimages = \"glyphs\"\nglyphs = 20\n";
  return {
      {"TerminalCode", kNode, "log_level = \"\\u001b[31m\"\n" + learner, 1, "log_level",
       "found \"\\x1b[31m\""},
      {"NoModel", kNode,
       "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"p\"\nmodel = \"none\"\n[panel.source]\n", 5,
       "panel[0].model", "cannot open"},
      {"NoRecording", kNode, Panel("kind = \"replay\"\nfile = \"none.npy\"\n"), 10, "panel[0].source.file",
       "none.npy: cannot open"},
      {"NarrowRecording", kNode, Panel("kind = \"replay\"\nfile = \"narrow.npy\"\n"), 10,
       "panel[0].source.file", "has 7 features, the model takes 1024"},
      {"CrowdedRecording", kNode, Panel("kind = \"replay\"\nfile = \"crowded.npy\"\n"), 10,
       "panel[0].source.file", "has 300 subjects, at most 256"},
      {"Archive", kNode, Panel("kind = \"replay\"\nfile = \"archive.npz\"\n"), 10, "panel[0].source.file",
       "an .npz archive"},
      {"OddRate", kNode, Panel("kind = \"replay\"\nfile = \"good.npy\"\nrate_hz = 1999.0\n"), 11,
       "panel[0].source.rate_hz", "2000 divided by a whole number"},
      {"OddRoomRate", kNode, Panel("kind = \"room\"\nrate_hz = 1999.0\n"), 10, "panel[0].source.rate_hz",
       "2000 divided by a whole number"},
      {"HugeRoom", kNode, Panel("kind = \"room\"\nsnapshots = 1048576\n"), 10, "panel[0].source.snapshots",
       "allowed"},
      {"RangesForPositioning", kNode, Panel("kind = \"ranges\"\nfile = \"none.csv\"\n"), 9,
       "panel[0].source.kind", "for the workload beacon"},
      {"NoXclbin", kNode, Panel(kRoom, "accelerator = \"xrt\"\nxclbin = \"none.xclbin\"\n"), 9,
       "panel[0].xclbin", ""},
      {"FrontEndByName", kNode, Panel("kind = \"udp\"\nfront_end = \"localhost\"\nport = 0\n"), 10,
       "panel[0].source.front_end", "not a numeric"},
      {"UdpAddressByName", kNode, Panel("kind = \"udp\"\naddress = \"localhost\"\nport = 0\n"), 10,
       "panel[0].source.address", "not a numeric"},
      {"FrontEndOfAnotherFamily", kNode, Panel("kind = \"udp\"\nfront_end = \"::1\"\nport = 0\n"), 10,
       "panel[0].source.front_end", "one is IPv6"},
      {"AggregatorWithoutPort", kNode, learner + "[uplink]\naggregator = \"127.0.0.1\"\n", 6,
       "uplink.aggregator", "has no port"},
      {"AggregatorAtPortZero", kNode, learner + "aggregator = \"127.0.0.1:0\"\n", 5, "federation.aggregator",
       "port 0"},
      {"DeceptiveLoopback", kNode, learner + "aggregator = \"127.evil.example.com:7400\"\n", 5,
       "federation.aggregator", "not on the loopback"},
      {"HttpWithoutPort", kNode, learner + "[http]\nlisten = \"127.0.0.1\"\n", 6, "http.listen",
       "has no port"},
      {"HttpExposedByTheUplinksKey", kNode,
       learner + "[http]\nlisten = \"0.0.0.0:7481\"\n[uplink]\ninsecure = true\n", 6, "http.listen",
       "insecure = true in [http]"},
      {"NoImages", kNode, Learner("images = \"none.gz\"\n"), 6, "federation.images", "none.gz: cannot open"},
      {"NoLabels", kNode, Learner("images = \"side8\"\nlabels = \"none.gz\"\n"), 7, "federation.labels",
       "none.gz: cannot open"},
      {"ImagesOfNoEncoder", kNode, Learner("images = \"side2\"\n"), 6, "federation.images",
       "images of 2 x 2 pixels, an encoder takes a side of 4 to 256"},
      {"NoFolderForTheState", kNode, Learner("images = \"side8\"\nstate = \"none/state\"\n"), 7,
       "federation.state", "folder"},
      {"NameOfAnotherCertificate", kNode,
       "node = \"north\"\n" + learner.substr(learner.find('\n') + 1) + kGoodTls, 1, "node",
       "not the name on the certificate"},
      {"CertificateOfAServer", kNode,
       "node = \"aggregator\"\n" + learner.substr(learner.find('\n') + 1) + kServerTls, 6, "tls.certificate",
       "may not be used by a client; nodes and commands take one of `tributary certs --name"},
      {"NoCertificate", kNode, learner + Tls("none.pem", "certs/south.key", "certs/ca.pem"), 6,
       "tls.certificate", "cannot open"},
      {"BrokenCertificate", kNode, learner + Tls("narrow.npy", "certs/south.key", "certs/ca.pem"), 6,
       "tls.certificate", "not a PEM certificate"},
      {"ExpiredCertificate", kNode, learner + Tls("certs/expired.pem", "certs/south.key", "certs/ca.pem"), 6,
       "tls.certificate", "expired"},
      {"KeyOfAnotherCertificate", kNode, learner + Tls("certs/south.pem", "certs/other.key", "certs/ca.pem"),
       7, "tls.key", "not the key of the certificate"},
      {"AnotherAuthority", kNode, learner + Tls("certs/south.pem", "certs/south.key", "others/ca.pem"), 6,
       "tls.certificate", "did not sign it"},
      {"NoAuthority", kNode, learner + Tls("certs/south.pem", "certs/south.key", "none.pem"), 8, "tls.ca",
       "cannot open"},
  };
}

std::vector<Broken> AggregatorFaults() {
  const std::string images = "[federation.evaluation]\n";
  return {
      {"TerminalCode", kAggregator, Site("log_level = \"\\u001b[31m\"\n"), 1, "log_level",
       "found \"\\x1b[31m\""},
      {"ListenWithoutPort", kAggregator, Site("listen = \"127.0.0.1\"\n"), 1, "listen", "has no port"},
      {"ListenOnNoPort", kAggregator, Site("listen = \"127.0.0.1:x\"\n"), 1, "listen",
       "a number from 0 to 65535"},
      {"HttpWithoutPort", kAggregator, Site("[http]\nlisten = \"127.0.0.1\"\n"), 2, "http.listen",
       "has no port"},
      {"HttpWhereGrpcListens", kAggregator,
       Site("listen = \"[::1]:7400\"\n[http]\nlisten = \"[::1]:7400\"\n"), 3, "http.listen",
       "where gRPC listens"},
      {"HttpExposedByTheGrpcKey", kAggregator, Site("insecure = true\n[http]\nlisten = \"0.0.0.0:7480\"\n"),
       3, "http.listen", "insecure = true in [http]"},
      {"ParentWithoutPort", kAggregator, Site("", "[parent]\naggregator = \"127.0.0.1\"\nnode = \"lab\"\n"),
       5, "parent.aggregator", "has no port"},
      {"ParentAtPortZero", kAggregator, Site("", "[parent]\naggregator = \"127.0.0.1:0\"\nnode = \"lab\"\n"),
       5, "parent.aggregator", "port 0"},
      {"ReportsUnderAnotherName", kAggregator,
       Site("", "[parent]\naggregator = \"127.0.0.1:1\"\nnode = \"lab\"\n" + kChildTls), 6, "parent.node",
       "not the name on the certificate"},
      {"LearnsUnderAnotherName", kAggregator,
       Store("store = \"store\"\n[federation.parent]\naggregator = \"127.0.0.1:1\"\nnode = \"lab\"\n" +
             kChildTls),
       8, "federation.parent.node", "not the name on the certificate"},
      {"StoreWithoutParent", kAggregator, Store("store = \"none/store\"\n"), 5, "federation.store", "none"},
      {"StoreIsALinkToNowhere", kAggregator, Store("store = \"nowhere\"\n"), 5, "federation.store",
       "leads nowhere"},
      {"StoreHasAFileForItsModels", kAggregator, Store("store = \"odd\"\n"), 5, "federation.store",
       "a store has a folder there"},
      {"SourceThatNobodyCanReport", kAggregator,
       "listen = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\n[[site]]\nname = \"lab\"\nsources = "
       "[\"a\\u0007\"]\n",
       6, "site[0].sources", "without control and hidden characters"},
      {"StoreIsAFile", kAggregator, Store("store = \"narrow.npy\"\n"), 5, "federation.store", "is a file"},
      {"NoEvaluationImages", kAggregator, Store("store = \"store\"\n" + images + "images = \"none\"\n"), 7,
       "federation.evaluation.images", "none: cannot open"},
      {"EvaluationWithoutLabels", kAggregator, Store("store = \"store\"\n" + images + "images = \"side8\"\n"),
       7, "federation.evaluation.images", "needs a label for each"},
      {"TestImagesOfAnotherSide", kAggregator,
       Store("store = \"store\"\n" + images +
             "images = \"glyphs\"\ntest_images = \"side8\"\ntest_labels = \"labels\"\nmax_images = 100\n"),
       8, "federation.evaluation.test_images", "images of 8 x 8 pixels, and images of 28 x 28"},
      {"NoCertificate", kAggregator, Site("", Tls("none.pem", "certs/south.key", "certs/ca.pem")), 5,
       "tls.certificate", "cannot open"},
      {"CertificateOfAClient", kAggregator, Site("", kGoodTls), 5, "tls.certificate",
       "may not be used by a server; an aggregator takes one of `tributary certs --server"},
      {"CertificateOfAServerWithAParent", kAggregator,
       Site("", "[parent]\naggregator = \"127.0.0.1:1\"\nnode = \"aggregator\"\n" + kServerTls), 8,
       "tls.certificate", "may not be used by a client; an aggregator with a parent takes one of"},
      {"TokensThatAnybodyMayWrite", kAggregator, Site("[access]\ntokens = \"open.toml\"\n"), 2,
       "access.tokens", "anybody may write to it; take that right away: chmod o-w"},
      {"TokensInAFolderThatAnybodyMayWrite", kAggregator, Site("[access]\ntokens = \"open/tokens.toml\"\n"),
       2, "access.tokens", "anybody may write to its folder; take that right away: chmod o-w"},
      {"TokensInNoFolder", kAggregator, Site("[access]\ntokens = \"none/tokens.toml\"\n"), 2, "access.tokens",
       "its folder is missing"},
      {"SocketInNoFolder", kAggregator, Site("listen = \"unix:none/hub.sock\"\n"), 1, "listen",
       "its folder is missing"},
      {"MoreClassesThanItsParentTakes", kAggregator,
       fmt::format("[[site]]\nname = \"lab\"\nmax_subjects = 2\nsources = [{0}]\nclasses = "
                   "[{0}]\n[parent]\naggregator = "
                   "\"127.0.0.1:1\"\nnode = \"lab\"\n",
                   LongNames(256)),
       1, "site[0]", "bytes, allowed are 65536"},
      {"NoList", kAggregator, Site("", kServerTls + "crl = \"none\"\n"), 8, "tls.crl", "cannot open"},
      {"ListThatIsNone", kAggregator, Site("", kServerTls + "crl = \"certs/ca.pem\"\n"), 8, "tls.crl",
       "is not a PEM revocation list; give the crl.pem that `tributary certs revoke` makes"},
      {"ListOfAnotherAuthority", kAggregator, Site("", kServerTls + "crl = \"others/crl.pem\"\n"), 8,
       "tls.crl", "is not signed by a CA in the ca file"},
  };
}

std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string Images(std::uint32_t count, std::uint32_t side) {
  return BigEndian(0x803) + BigEndian(count) + BigEndian(side) + BigEndian(side) +
         std::string(std::size_t{count} * side * side, '\1');
}

std::string Labels(std::uint32_t count) {
  return BigEndian(0x801) + BigEndian(count) + std::string(count, '\1');
}

std::string Recording(std::uint64_t subjects, std::uint64_t width) {
  const std::uint64_t shape[] = {1, subjects, width};
  return parameters::EncodeNpy(shape, std::vector<float>(subjects * width));
}

// The files that the configurations name, made once.
class CheckTest : public ::testing::TestWithParam<Broken> {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    const Certificates certificates(*folder_, "certs", {"south", "other", "aggregator", "child"});
    const Certificates others(*folder_, "others", {"south"});
    folder_->Write("certs/expired.pem", ExpiredCertificate(ReadText(certificates.File("south.pem")),
                                                           ReadText(certificates.File("ca.key"))));
    others.Revoke({"south"});
    folder_->Write("good.npy", Recording(1, 1024));
    folder_->Write("narrow.npy", Recording(1, 7));
    std::filesystem::create_symlink("none", folder_->Path("nowhere"));
    std::filesystem::create_directory(folder_->Path("odd"));
    folder_->Write("odd/models", "");
    folder_->Write("open.toml", "");
    std::filesystem::create_directory(folder_->Path("open"));
    for (const char* open : {"open", "open.toml"}) {
      ASSERT_EQ(chmod(folder_->Path(open).c_str(), 0777), 0);
    }
    folder_->Write("crowded.npy", Recording(300, 1024));
    folder_->Write("archive.npz", "PK\3\4 and what follows");
    folder_->Write("side2", Images(4, 2));
    folder_->Write("side8", Images(4, 8));
    folder_->Write("labels", Labels(4));
  }
  static void TearDownTestSuite() { folder_.reset(); }

  struct Outcome {
    int exit_code;
    std::string said;
  };
  static Outcome Run(const std::string& program, const std::string& config, bool check) {
    const std::string log = folder_->Path(fmt::format("{}.log", check ? "check" : "start"));
    std::filesystem::remove(log);
    std::vector<std::string> arguments = {"--config", config};
    if (check) arguments.push_back("--check");
    Process process(program, arguments, log);
    const int exit_code = process.Wait(std::chrono::seconds(60));
    return {exit_code, process.Log()};
  }

  static std::unique_ptr<ScratchFolder> folder_;
};

std::unique_ptr<ScratchFolder> CheckTest::folder_;

TEST_P(CheckTest, CheckAndStartSayTheSameWithFileLineAndKey) {
  const Broken& broken = GetParam();
  const std::string path = folder_->Write("daemon.toml", broken.text);
  const Outcome check = Run(broken.program, path, true);
  EXPECT_EQ(check.exit_code, 78);
  EXPECT_THAT(check.said, HasSubstr(fmt::format("{}:{}: {}: ", path, broken.line, broken.key)));
  EXPECT_THAT(check.said, HasSubstr(broken.what));
  const std::string fault = check.said.substr(0, check.said.find('\n') + 1);
  EXPECT_EQ(check.said, fault) << "one fault was made";
  const Outcome start = Run(broken.program, path, false);
  EXPECT_EQ(start.exit_code, 78);
  EXPECT_EQ(start.said, check.said);
  EXPECT_FALSE(std::filesystem::exists(folder_->Path("store")))
      << "nothing is made before all is known to be good";
}

const auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Node, CheckTest, ::testing::ValuesIn(NodeFaults()), kName);
INSTANTIATE_TEST_SUITE_P(Aggregator, CheckTest, ::testing::ValuesIn(AggregatorFaults()), kName);

using CheckAllTest = CheckTest;

TEST_F(CheckAllTest, EveryFaultIsSaidAtOnce) {
  const std::string text =
      "node = \"north\"\nsite = \"lab\"\ncolour = 1\n" + kGoodTls +
      "[http]\nlisten = \"nowhere\"\n[[panel]]\nname = \"p\"\nmodel = \"none\"\n[panel.source]\n"
      "rate_hz = \"fast\"\n[federation]\nimages = \"none\"\nstate = \"none/state\"\n";
  const std::string path = folder_->Write("daemon.toml", text);
  const Outcome check = Run(kNode, path, true);
  EXPECT_EQ(check.exit_code, 78);
  for (const char* at :
       {":1: node: ", ":3: colour: ", ":9: http.listen: ", ":12: panel[0].model: ",
        ":14: panel[0].source.rate_hz: ", ":16: federation.images: ", ":17: federation.state: "}) {
    EXPECT_THAT(check.said, HasSubstr(path + at));
  }
  EXPECT_EQ(std::ranges::count(check.said, '\n'), 7);
  EXPECT_EQ(Run(kNode, path, false).said, check.said);
}

TEST_F(CheckAllTest, ADeadlineThatTheWindowCutsShortIsWarnedOf) {
  const std::string path = folder_->Write("daemon.toml", Site("", "slot_ms = 10\ndeadline_ms = 5000\n"));
  EXPECT_THAT(Run(kAggregator, path, true).said,
              HasSubstr("warning: lab: slots are fused after 2560 ms and not after deadline_ms"));
}

// The name may be misspelled. The file may also come later.
TEST_F(CheckAllTest, AFileOfTokensThatDoesNotExistIsWarnedOf) {
  const std::string path = folder_->Write(
      "daemon.toml", "listen = \"127.0.0.1:1\"\n" + Site("[access]\ntokens = \"tokns.toml\"\n"));
  const Outcome check = Run(kAggregator, path, true);
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_THAT(check.said, HasSubstr("warning: access.tokens: "));
  EXPECT_THAT(check.said, HasSubstr("tokns.toml does not exist, so no token is in force until"));
}

TEST_F(CheckAllTest, AConfigurationThatIsNoFileIsAFaultAndNobodyWaitsForIt) {
  const std::string pipe = folder_->Path("pipe.toml");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* program : {kNode, kAggregator}) {
    for (const std::string& path : {pipe, folder_->Path("odd")}) {
      for (const bool check : {true, false}) {
        const Outcome outcome = Run(program, path, check);
        EXPECT_EQ(outcome.exit_code, 78) << program << " " << path;
        EXPECT_THAT(outcome.said, HasSubstr(path + ": is a "));
      }
    }
  }
}

TEST_F(CheckAllTest, ARunIsJudgedByItsInitialModelToo) {
  const auto run = [](const std::string& text, bool check) {
    std::filesystem::remove(folder_->Path("run.log"));
    std::vector<std::string> arguments = {"run", "start", folder_->Write("run.toml", text), "--aggregator",
                                          "127.0.0.1:1"};
    if (check) arguments.push_back("--check");
    Process process("tributary", arguments, folder_->Path("run.log"));
    const int exit_code = process.Wait(std::chrono::seconds(60));
    return Outcome{exit_code, process.Log()};
  };
  const std::string no_model = "name = \"r\"\nmodel = \"none.safetensors\"\n";
  const Outcome check = run(no_model, true);
  EXPECT_EQ(check.exit_code, 78);
  EXPECT_THAT(check.said, HasSubstr("run.toml:2: model: "));
  EXPECT_EQ(run(no_model, false).said, check.said);
  const std::string coarse = "name = \"r\"\n[encoder]\ngrid = 14\n";
  EXPECT_THAT(run(coarse, true).said, HasSubstr("run.toml:3: encoder.grid: must be from 1 to 3"));
  EXPECT_EQ(run(coarse, false).exit_code, 78);
}

// Two nodes on one machine meet at the default port.
TEST_F(CheckAllTest, ABusyHttpPortNamesItsKeyAndOffersPortZero) {
  const int port = ReservePort();
  const auto config = [port](const std::string& node) {
    return folder_->Write(node + ".toml",
                          fmt::format("node = \"{}\"\n[http]\nlisten = \"127.0.0.1:{}\"\n[federation]\n"
                                      "images = \"glyphs\"\nglyphs = 20\n",
                                      node, port));
  };
  Process first(kNode, {"--config", config("first")}, folder_->Path("first.log"));
  ASSERT_TRUE(WaitFor([&] { return !HttpGet(port, "/healthz").empty(); })) << first.Log();
  const Outcome second = Run(kNode, config("second"), false);
  EXPECT_EQ(second.exit_code, 69) << "it may pass";
  EXPECT_THAT(second.said, HasSubstr(fmt::format("http.listen: 127.0.0.1:{}: cannot listen there", port)));
  EXPECT_THAT(second.said, HasSubstr("port 0 for any free one"));
  EXPECT_EQ(Run(kNode, config("second"), true).exit_code, 0) << "--check binds nothing";
}

TEST_F(CheckAllTest, ARemarkIsNoFault) {
  const std::string path = folder_->Write("daemon.toml", Learner("images = \"side8\"\n"));
  const Outcome check = Run(kNode, path, true);
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_THAT(check.said,
              HasSubstr("images of 8 x 8 pixels; only a run whose initial model or encoder.side"));
}

}  // namespace
}  // namespace tributary::testing
