// HTTP for people: TLS, tokens, sessions, operations and the audit log, with a real aggregator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/escaping.h"
#include "core/config/access_tokens.h"
#include "core/runtime/clock.h"
#include "tests/support/access.h"
#include "tests/support/exposition.h"
#include "tests/support/http.h"

namespace tributary::testing {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using nlohmann::json;
using ::testing::HasSubstr;

struct HttpsAnswer {
  int status = 0;  // 0: none; `body` says why
  std::string body;
  std::map<std::string, std::string> headers;
};

struct HttpsRequest {
  bhttp::verb method = bhttp::verb::get;
  std::string target;
  std::map<std::string, std::string> headers = {};
  std::string body = {};
};

// A client of the authority in `folder`; `name`: whose certificate it shows, empty for none.
class HttpsClient {
 public:
  HttpsClient(const Certificates& certificates, int port, const std::string& name = "") : port_(port) {
    context_.load_verify_file(certificates.File("ca.pem"));
    context_.set_verify_mode(asio::ssl::verify_peer);
    context_.set_verify_callback(asio::ssl::host_name_verification("localhost"));
    if (name.empty()) return;
    context_.use_certificate_chain_file(certificates.File(name + ".pem"));
    context_.use_private_key_file(certificates.File(name + ".key"), asio::ssl::context::pem);
  }

  HttpsAnswer Ask(const HttpsRequest& asked) {
    try {
      Open();
      bhttp::request<bhttp::string_body> request(asked.method, asked.target, 11);
      request.set(bhttp::field::host, "localhost:" + std::to_string(port_));
      for (const auto& [name, value] : asked.headers) request.set(name, value);
      request.body() = asked.body;
      request.prepare_payload();
      bhttp::write(*stream_, request);
      beast::flat_buffer buffer;
      bhttp::response<bhttp::string_body> response;
      bhttp::read(*stream_, buffer, response);
      HttpsAnswer answer{static_cast<int>(response.result_int()), response.body(), {}};
      for (const auto& field : response) {
        answer.headers[std::string(field.name_string().data(), field.name_string().size())] =
            std::string(field.value().data(), field.value().size());
      }
      return answer;
    } catch (const std::exception& fault) {
      stream_.reset();
      return {0, fault.what(), {}};
    }
  }

  // Opens a stream of events and reads until it ends: how long that took from the first bytes on.
  std::chrono::milliseconds StreamUntilItEnds(const HttpsRequest& asked, const std::function<void()>& begun) {
    Open();
    bhttp::request<bhttp::empty_body> request(bhttp::verb::get, asked.target, 11);
    request.set(bhttp::field::host, "localhost:" + std::to_string(port_));
    for (const auto& [name, value] : asked.headers) request.set(name, value);
    bhttp::write(*stream_, request);
    char bytes[4096];
    beast::error_code error;
    stream_->read_some(asio::buffer(bytes), error);
    begun();
    const auto from = std::chrono::steady_clock::now();
    while (!error) stream_->read_some(asio::buffer(bytes), error);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - from);
  }

 private:
  void Open() {
    stream_ = std::make_unique<beast::ssl_stream<beast::tcp_stream>>(io_, context_);
    auto& tcp = beast::get_lowest_layer(*stream_);
    tcp.expires_after(std::chrono::seconds(10));
    tcp.connect({asio::ip::address_v4::loopback(), static_cast<unsigned short>(port_)});
    stream_->handshake(asio::ssl::stream_base::client);
  }

  const int port_;
  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
  std::unique_ptr<beast::ssl_stream<beast::tcp_stream>> stream_;
};

class HttpsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    viewer_ = AddToken("wall-token", config::TokenRole::kViewer);
    operator_ = AddToken("laptop-token", config::TokenRole::kOperator);
    aggregator_.Start();
    // HTTP takes no plain request any more: gRPC tells when it serves.
    ASSERT_TRUE(WaitFor([&] { return Ask("", {.target = "/healthz"}).status == 200; }))
        << aggregator_.process().Log();
  }

  std::string AddToken(const std::string& name, config::TokenRole role) {
    const std::int64_t now_s = runtime::SystemClock().UnixNs() / 1'000'000'000;
    config::NewToken token = config::MakeToken(name, role, now_s, now_s + 3'600).value();
    EXPECT_TRUE(tokens_.Add(std::move(token.record)).ok());
    folder_.Write("tokens.toml", tokens_.Text());
    return "Bearer " + token.text;
  }
  void Revoke(const std::string& name) {
    EXPECT_TRUE(tokens_.Remove(name).ok());
    folder_.Write("tokens.toml", tokens_.Text());
  }
  HttpsAnswer Ask(const std::string& certificate, const HttpsRequest& request) const {
    return HttpsClient(certificates_, aggregator_.http_port(), certificate).Ask(request);
  }
  HttpsAnswer AskAs(const std::string& token, const std::string& target,
                    bhttp::verb method = bhttp::verb::get) const {
    return Ask("", {method, target, {{"Authorization", token}}});
  }
  std::string Audit() const { return ReadText(folder_.Path("audit.jsonl")); }

  ScratchFolder folder_;
  Certificates certificates_{folder_, "certs", {"aggregator", "laptop", "wall", "stranger"}};
  config::TokenSet tokens_;
  std::string viewer_, operator_;
  AggregatorProcess aggregator_{
      folder_,
      "aggregator",
      {"south", "east"},
      "tls = true\n" + FederationKeys(folder_) + certificates_.Table("aggregator") +
          "[access]\noperators = [\"laptop\"]\nviewers = [\"wall\"]\ntokens = \"tokens.toml\"\n"
          "audit_log = \"audit.jsonl\"\n"};
};

constexpr const char* kRunToml =
    "name = \"letters\"\nrounds = 1\nmin_nodes = 2\nquorum = 2\n[encoder]\nchannels = [4, 8]\n";

TEST_F(HttpsTest, KnowsCallersByCertificateOrTokenAndNobodyElse) {
  EXPECT_EQ(Ask("", {.target = "/api/v1/runs"}).status, 401);
  EXPECT_EQ(Ask("", {.target = "/api/v1/runs"}).headers["WWW-Authenticate"], "Bearer");
  EXPECT_EQ(Ask("wall", {.target = "/api/v1/runs"}).status, 200);
  EXPECT_EQ(Ask("stranger", {.target = "/api/v1/runs"}).status, 403);
  EXPECT_EQ(AskAs(viewer_, "/api/v1/runs").status, 200);
  EXPECT_EQ(AskAs(viewer_ + "0", "/api/v1/runs").status, 401);
  const HttpAnswer plain = HttpAsk(aggregator_.http_port(), "/healthz");
  EXPECT_EQ(plain.status, 400) << "no plain HTTP on this port";
  EXPECT_THAT(plain.body, HasSubstr("ask https://"));
  EXPECT_THAT(AskAs(viewer_, "/metrics").body,
              HasSubstr("tributary_http_connections_refused_total{reason=\"handshake\"} 1"));
}

TEST_F(HttpsTest, StartsControlsAndDeletesARunAndWritesItDown) {
  const auto post = [&](const std::string& target, const std::string& body = "") {
    return Ask("", {bhttp::verb::post,
                    target,
                    {{"Authorization", operator_}, {"Content-Type", "application/toml"}},
                    body});
  };
  const HttpsAnswer faults = post("/api/v1/runs?check=true", "name = \"letters\"\nrounds = 0\nround = 1\n");
  EXPECT_EQ(faults.status, 400);
  EXPECT_EQ(json::parse(faults.body)["code"], "INVALID_ARGUMENT");
  EXPECT_THAT(json::parse(faults.body)["error"].get<std::string>(), HasSubstr("run:2: rounds"));
  EXPECT_EQ(json::parse(post("/api/v1/runs?check=true", kRunToml).body), (json{{"ok", true}}));
  EXPECT_EQ(json::parse(AskAs(viewer_, "/api/v1/runs").body)["runs"].size(), 0u) << "a check starts nothing";
  EXPECT_EQ(post("/api/v1/runs", std::string(kRunToml) + "model = \"/etc/passwd\"\n").status, 400);

  EXPECT_EQ(post("/api/v1/runs", "name = \"digits\"\nrounds = 0\n").status, 400);

  const HttpsAnswer started = post("/api/v1/runs", kRunToml);
  ASSERT_EQ(started.status, 201) << started.body;
  EXPECT_EQ(json::parse(started.body)["run"]["name"], "letters");
  EXPECT_EQ(post("/api/v1/runs", "clip_norm = 1.0\n" + std::string(kRunToml)).status, 409)
      << "the name is taken";
  EXPECT_EQ(json::parse(post("/api/v1/runs/letters/pause").body)["run"]["state"], "RUN_STATE_PAUSED");
  EXPECT_EQ(json::parse(post("/api/v1/runs/letters/resume").body)["run"]["state"], "RUN_STATE_WAITING");
  EXPECT_EQ(post("/api/v1/runs/nosuch/pause").status, 404);
  const HttpsAnswer early = AskAs(operator_, "/api/v1/runs/letters", bhttp::verb::delete_);
  EXPECT_EQ(early.status, 409) << early.body;
  EXPECT_EQ(json::parse(early.body)["code"], "FAILED_PRECONDITION");

  const json models = json::parse(AskAs(viewer_, "/api/v1/models?run=letters").body)["models"];
  ASSERT_EQ(models.size(), 1u);
  const json run = json::parse(AskAs(viewer_, "/api/v1/runs/letters").body)["run"];
  EXPECT_EQ(AskAs(operator_, "/api/v1/models/" + std::string(64, '0') + ".safetensors").status, 404);
  EXPECT_EQ(AskAs(operator_, "/api/v1/models/..%2f..%2fkey.safetensors").status, 400);
  EXPECT_EQ(post("/api/v1/models/rollback?run=letters&round=7").status, 404);
  EXPECT_EQ(post("/api/v1/models/rollback?run=letters&round=x").status, 400);

  EXPECT_EQ(AskAs(viewer_, "/api/v1/runs/letters/stop", bhttp::verb::post).status, 403);
  EXPECT_EQ(json::parse(post("/api/v1/runs/letters/stop").body)["run"]["state"], "RUN_STATE_STOPPED");
  EXPECT_EQ(AskAs(operator_, "/api/v1/runs/letters", bhttp::verb::delete_).status, 200);

  ASSERT_TRUE(WaitFor([&] {
    return Audit().find("DeleteRun\",\"subject\":\"letters\",\"outcome\":\"OK") != std::string::npos;
  })) << Audit();
  const std::string audit = Audit();
  for (const char* part : {"\"action\":\"StartRun\",\"subject\":\"letters\",\"outcome\":\"OK\"",
                           "\"action\":\"StartRun\",\"subject\":\"digits\",\"outcome\":\"INVALID_ARGUMENT\"",
                           "\"action\":\"StartRun\",\"subject\":\"letters\",\"outcome\":\"ALREADY_EXISTS\"",
                           "\"action\":\"PauseRun\",\"subject\":\"nosuch\",\"outcome\":\"NOT_FOUND\"",
                           "\"name\":\"laptop-token\",\"way\":\"token\"", "\"from\":\"127.0.0.1:",
                           "\"name\":\"wall-token\"", "\"outcome\":\"PERMISSION_DENIED\""}) {
    EXPECT_THAT(audit, HasSubstr(part));
  }
  for (const std::string& token : {viewer_, operator_}) {
    const std::string secret = token.substr(token.rfind('_') + 1);
    EXPECT_EQ(audit.find(secret), std::string::npos);
    EXPECT_EQ(aggregator_.process().Log().find(secret), std::string::npos);
  }
}

TEST_F(HttpsTest, GivesAModelByItsDigest) {
  ASSERT_EQ(
      Ask("laptop", {bhttp::verb::post, "/api/v1/runs", {{"Content-Type", "application/toml"}}, kRunToml})
          .status,
      201);
  const json model = json::parse(AskAs(viewer_, "/api/v1/models").body)["models"][0];
  std::string digest;
  ASSERT_TRUE(absl::Base64Unescape(model["sha256"].get<std::string>(), &digest));
  const std::string name = "/api/v1/models/" + absl::BytesToHexString(digest);
  const std::string target = name + ".safetensors";
  EXPECT_EQ(AskAs(viewer_, target).status, 403) << "viewers read no model";
  const HttpsAnswer file = Ask("laptop", {.target = target});
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(std::to_string(file.body.size()), model["file_bytes"]);
  EXPECT_THAT(file.body, HasSubstr("\"data_offsets\""));

  EXPECT_EQ(AskAs(viewer_, name + ".onnx").status, 403);
  HttpsAnswer onnx = Ask("laptop", {.target = name + ".onnx"});
  EXPECT_EQ(onnx.status, 200) << onnx.body;
  EXPECT_THAT(onnx.headers["Content-Disposition"], HasSubstr(".onnx\""));
  for (const char* part : {"images", "features", "parameters_sha256", "Run letters, round 0."}) {
    EXPECT_THAT(onnx.body, HasSubstr(part));
  }
}

TEST_F(HttpsTest, APageLogsInAndOut) {
  HttpsAnswer opened = AskAs(operator_, "/api/v1/session", bhttp::verb::post);
  ASSERT_EQ(opened.status, 200) << opened.body;
  EXPECT_EQ(json::parse(opened.body),
            (json{{"name", "laptop-token"}, {"way", "token"}, {"role", "operator"}}));
  const std::string cookie = opened.headers["Set-Cookie"];
  for (const char* part :
       {"__Host-tributary-session=", "; HttpOnly", "; SameSite=Strict", "; Secure", "; Path=/"}) {
    EXPECT_THAT(cookie, HasSubstr(part));
  }
  const std::string pair = cookie.substr(0, cookie.find(';'));
  const std::string origin = "https://localhost:" + std::to_string(aggregator_.http_port());
  EXPECT_EQ(json::parse(Ask("", {.target = "/api/v1/session", .headers = {{"Cookie", pair}}}).body)["way"],
            "session");
  EXPECT_EQ(
      Ask("", {bhttp::verb::post, "/api/v1/runs/nosuch/stop", {{"Cookie", pair}, {"Origin", origin}}}).status,
      404);
  EXPECT_EQ(Ask("", {bhttp::verb::post,
                     "/api/v1/runs/nosuch/stop",
                     {{"Cookie", pair}, {"Origin", "https://evil.example"}}})
                .status,
            403);
  EXPECT_EQ(Ask("", {bhttp::verb::delete_, "/api/v1/session", {{"Cookie", pair}, {"Origin", origin}}}).status,
            204);
  EXPECT_EQ(Ask("", {.target = "/api/v1/runs", .headers = {{"Cookie", pair}}}).status, 401);
}

TEST_F(HttpsTest, ARevokedTokenIsOutOfItsStreamAndItsSessionWithinASecond) {
  HttpsAnswer opened = AskAs(viewer_, "/api/v1/session", bhttp::verb::post);
  const std::string cookie = opened.headers["Set-Cookie"];
  HttpsClient client(certificates_, aggregator_.http_port());
  const auto ended = client.StreamUntilItEnds(
      {.target = "/api/v1/events", .headers = {{"Authorization", viewer_}}}, [&] { Revoke("wall-token"); });
  // 0.1 s until the file is looked at, 0.5 s until the stream is.
  EXPECT_LT(ended, std::chrono::milliseconds(1'500));
  EXPECT_EQ(AskAs(viewer_, "/api/v1/sites").status, 401);
  EXPECT_EQ(Ask("", {.target = "/api/v1/sites", .headers = {{"Cookie", cookie.substr(0, cookie.find(';'))}}})
                .status,
            401);
  EXPECT_EQ(AskAs(operator_, "/api/v1/sites").status, 200);
  EXPECT_THAT(Audit(), HasSubstr("RemoveToken"));
}

TEST_F(HttpsTest, ANewCertificateIsTakenWithoutCuttingAStream) {
  HttpsClient client(certificates_, aggregator_.http_port(), "wall");
  client.StreamUntilItEnds({.target = "/api/v1/events"}, [&] {
    certificates_.Revoke({"aggregator"});
    certificates_.Make({"aggregator"});
    EXPECT_TRUE(WaitFor([&] {
      return AskAs(operator_, "/metrics")
                 .body.find("tributary_tls_reloads_total{files=\"certificate\",result=\"taken\"} 1") !=
             std::string::npos;
    }));
    EXPECT_EQ(MetricValue(AskAs(operator_, "/metrics").body, "tributary_http_event_streams"), 1.0);
    aggregator_.process().Signal(SIGTERM);
  });
}

}  // namespace
}  // namespace tributary::testing
