// Who may make which call of the HTTP interface: every call, by every way to be known, in every role.
#include "aggregator/access/http_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/access/session_routes.h"
#include "core/config/pem.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::access {
namespace {

using http::HttpMethod;
using http::HttpRequest;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kNowS = 1'000'000;

// A certificate of that name, signed by itself: what TLS has verified is not verified again.
std::string CertificateOf(const std::string& name) {
  static std::map<std::string, std::string> made;
  std::string& text = made[name];
  if (!text.empty()) return text;
  const config::Key key(EVP_EC_gen("P-256"));
  const config::Certificate certificate(X509_new());
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), static_cast<long>(made.size()));
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3'600);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.data()),
                             static_cast<int>(name.size()), -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const config::Bio out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return text = std::string(bytes, static_cast<std::size_t>(size));
}

class HttpAccessTest : public ::testing::Test {
 protected:
  HttpAccessTest() {
    Add("viewing", config::TokenRole::kViewer, kNowS + 100);
    Add("operating", config::TokenRole::kOperator, kNowS + 100);
    Add("joining", config::TokenRole::kJoin, kNowS + 100);
    Add("expired", config::TokenRole::kOperator, kNowS);
    texts_["revoked"] = config::MakeToken("revoked", config::TokenRole::kOperator, 0, kNowS + 100)->text;
    Use(HttpAccess::Anonymous::kNobody);
  }

  void Add(const std::string& name, config::TokenRole role, std::int64_t expires_s) {
    config::NewToken token = config::MakeToken(name, role, 0, expires_s).value();
    if (role == config::TokenRole::kJoin) token.record.boards = {"east"};
    texts_[name] = token.text;
    ids_[name] = token.record.id;
    ASSERT_TRUE(set_.Add(std::move(token.record)).ok());
  }
  void Use(HttpAccess::Anonymous anonymous) {
    tokens_ = std::make_unique<LiveTokens>("", set_, clock_);
    access_ = std::make_unique<HttpAccess>(control_, *tokens_, sessions_, anonymous, clock_, audit_.get());
  }

  // Each time another, so that no address shows too many tokens.
  static std::string AnAddress() {
    static int made = 0;
    ++made;
    return "10.0." + std::to_string(made / 256) + "." + std::to_string(made % 256) + ":5000";
  }
  static HttpRequest Request(std::string_view route, bool tls = true) {
    HttpRequest request;
    request.route = route;
    request.method = route.starts_with("GET")    ? HttpMethod::kGet
                     : route.starts_with("POST") ? HttpMethod::kPost
                                                 : HttpMethod::kDelete;
    request.headers["Host"] = "localhost:7480";
    request.peer = std::make_shared<http::HttpPeer>(http::HttpPeer{AnAddress(), tls});
    return request;
  }
  HttpRequest ByToken(std::string_view route, const std::string& token) const {
    HttpRequest request = Request(route);
    request.headers["Authorization"] = "Bearer " + texts_.at(token);
    return request;
  }
  HttpRequest BySession(std::string_view route, const std::string& token) {
    HttpRequest request = Request(route);
    const std::string secret = sessions_.Open(ids_.at(token), kNowS).value();
    request.headers["Cookie"] = "a=b; __Host-tributary-session=" + secret;
    request.headers["Origin"] = "https://localhost:7480";
    return request;
  }
  static HttpRequest ByCertificate(std::string_view route, const std::string& name) {
    HttpRequest request = Request(route);
    request.peer =
        std::make_shared<http::HttpPeer>(http::HttpPeer{"192.0.2.7:5000", true, CertificateOf(name)});
    return request;
  }
  // 0: admitted.
  int Judge(HttpRequest request) {
    const auto refusal = access_->Judge(request);
    if (refusal) said_ = refusal->body;
    return refusal ? refusal->status : 0;
  }

  runtime::ManualClock clock_{kNowS * 1'000'000'000};
  AccessControl control_{AccessPolicy(AccessLists{.nodes = {"board"},
                                                  .children = {},
                                                  .viewers = {"wall"},
                                                  .operators = {"laptop"},
                                                  .refused = {"thief"}},
                                      {}),
                         clock_};
  config::TokenSet set_;
  std::map<std::string, std::string> texts_, ids_;
  Sessions sessions_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<LiveTokens> tokens_;
  std::unique_ptr<HttpAccess> access_;
  std::string said_;
};

const std::set<std::string> kPublic = {
    "GET /healthz",           "GET /",         "GET /assets/", "GET /api/v1/session", "POST /api/v1/session",
    "DELETE /api/v1/session", "GET /api/v1/ca"};
const std::string kJoin = "POST /api/v1/join";
const std::set<std::string> kForViewers = {"GET /metrics",       "GET /readyz",        "GET /api/v1/sites",
                                           "GET /api/v1/sites/", "GET /api/v1/events", "GET /api/v1/nodes",
                                           "GET /api/v1/runs",   "GET /api/v1/runs/",  "GET /api/v1/models"};
const std::set<std::string> kForOperators = {"POST /api/v1/runs",
                                             "POST /api/v1/runs/{run}/pause",
                                             "POST /api/v1/runs/{run}/resume",
                                             "POST /api/v1/runs/{run}/stop",
                                             "DELETE /api/v1/runs/{run}",
                                             "GET /api/v1/models/{digest}.safetensors",
                                             "GET /api/v1/models/{digest}.onnx",
                                             "POST /api/v1/models/rollback"};

TEST_F(HttpAccessTest, TheTableHasTheseCallsOfHttpAndNoOther) {
  std::set<std::string> expected = kPublic, listed;
  expected.insert(kForViewers.begin(), kForViewers.end());
  expected.insert(kForOperators.begin(), kForOperators.end());
  expected.insert(kJoin);
  for (const CallRule& rule : CallTable()) {
    if (!rule.path.starts_with("/")) listed.emplace(rule.path);
  }
  EXPECT_EQ(listed, expected);
}

// Each cell of the table: a call, a way to be known, a role.
TEST_F(HttpAccessTest, AdmitsEachCallByRoleWhateverTheWay) {
  struct Column {
    std::string name;
    std::function<HttpRequest(std::string_view)> make;
    int of_public, of_viewers, of_operators, of_join;  // the statuses; 0: admitted
  };
  const std::vector<Column> columns = {
      {"stranger", [](auto route) { return Request(route); }, 0, 401, 401, 401},
      {"viewer's token", [this](auto route) { return ByToken(route, "viewing"); }, 0, 0, 403, 403},
      {"operator's token", [this](auto route) { return ByToken(route, "operating"); }, 0, 0, 0, 403},
      {"board's token", [this](auto route) { return ByToken(route, "joining"); }, 0, 403, 403, 0},
      {"expired token", [this](auto route) { return ByToken(route, "expired"); }, 401, 401, 401, 401},
      {"revoked token", [this](auto route) { return ByToken(route, "revoked"); }, 401, 401, 401, 401},
      {"viewer's session", [this](auto route) { return BySession(route, "viewing"); }, 0, 0, 403, 403},
      {"operator's session", [this](auto route) { return BySession(route, "operating"); }, 0, 0, 0, 403},
      {"expired token's session", [this](auto route) { return BySession(route, "expired"); }, 0, 401, 401,
       401},
      {"viewer's certificate", [](auto route) { return ByCertificate(route, "wall"); }, 0, 0, 403, 403},
      {"operator's certificate", [](auto route) { return ByCertificate(route, "laptop"); }, 0, 0, 0, 403},
      {"node's certificate", [](auto route) { return ByCertificate(route, "board"); }, 0, 403, 403, 403},
      {"certificate without role", [](auto route) { return ByCertificate(route, "somebody"); }, 0, 403, 403,
       403},
      {"refused certificate", [](auto route) { return ByCertificate(route, "thief"); }, 403, 403, 403, 403},
  };
  for (const Column& column : columns) {
    for (const std::string& route : kPublic) {
      EXPECT_EQ(Judge(column.make(route)), column.of_public) << route << " by " << column.name;
    }
    for (const std::string& route : kForViewers) {
      EXPECT_EQ(Judge(column.make(route)), column.of_viewers) << route << " by " << column.name;
    }
    for (const std::string& route : kForOperators) {
      EXPECT_EQ(Judge(column.make(route)), column.of_operators) << route << " by " << column.name;
    }
    EXPECT_EQ(Judge(column.make(kJoin)), column.of_join) << column.name;
  }
}

TEST_F(HttpAccessTest, AnonymousCallersCountAsTheConfigurationSays) {
  Use(HttpAccess::Anonymous::kViewer);
  for (const std::string& route : kForViewers) EXPECT_EQ(Judge(Request(route, false)), 0) << route;
  for (const std::string& route : kForOperators) EXPECT_EQ(Judge(Request(route, false)), 401) << route;
  Use(HttpAccess::Anonymous::kOperator);
  for (const std::string& route : kForOperators) EXPECT_EQ(Judge(Request(route, false)), 0) << route;
}

TEST_F(HttpAccessTest, ACallWithoutARowIsForViewersToReadAndForOperatorsToMake) {
  EXPECT_EQ(Judge(Request("GET /new")), 401);
  EXPECT_EQ(Judge(ByToken("GET /new", "viewing")), 0);
  EXPECT_EQ(Judge(ByToken("POST /new", "viewing")), 403);
  EXPECT_EQ(Judge(ByToken("POST /new", "operating")), 0);
  EXPECT_EQ(Judge(ByCertificate("POST /new", "wall")), 403);
}

TEST_F(HttpAccessTest, NamesTheCallAndWhatItTakesToWhoShowsACertificate) {
  EXPECT_EQ(Judge(ByCertificate("GET /api/v1/runs/", "board")), 403);
  EXPECT_THAT(said_, HasSubstr("may not call GET /api/v1/runs/: add the name to viewers"));
  EXPECT_EQ(Judge(ByCertificate("GET /api/v1/models/{digest}.safetensors", "wall")), 403);
  EXPECT_THAT(said_, HasSubstr("may not call GET /api/v1/models/{digest}.safetensors: add the name to op"));
  EXPECT_EQ(Judge(ByCertificate(kJoin, "laptop")), 403);
  EXPECT_THAT(said_, HasSubstr("may not call POST /api/v1/join: no certificate is enough: send a token of "
                               "`tributary token invite`"));
}

// What a browser does for a page of another site.
TEST_F(HttpAccessTest, APageOfAnotherSiteChangesNothing) {
  const std::string stop = "POST /api/v1/runs/{run}/stop";
  Use(HttpAccess::Anonymous::kOperator);
  for (const char* origin :
       {"https://evil.example", "http://localhost:7480", "null", "https://localhost:74800",
        "https://localhost", "https://evil.example/https://localhost:7480"}) {
    HttpRequest session = BySession(stop, "operating"), certificate = ByCertificate(stop, "laptop"),
                anonymous = Request(stop);
    for (HttpRequest* request : {&session, &certificate, &anonymous}) {
      request->headers["Origin"] = origin;
      EXPECT_EQ(Judge(*request), 403) << origin;
      EXPECT_THAT(said_, HasSubstr("another site"));
    }
  }
  HttpRequest bare = BySession(stop, "operating");
  bare.headers.erase("Origin");
  EXPECT_EQ(Judge(bare), 403) << "a cookie needs an Origin";
  HttpRequest token = ByToken(stop, "operating");
  token.headers["Origin"] = "https://tool.example";
  EXPECT_EQ(Judge(token), 0) << "a token is no browser's doing";
  // The name of another site that leads to the loopback.
  HttpRequest rebound = Request(stop, false);
  rebound.headers["Host"] = "evil.example:7480";
  rebound.headers["Origin"] = "http://evil.example:7480";
  EXPECT_EQ(Judge(rebound), 403);
  for (const char* host : {"localhost", "127.0.0.1:7480", "[::1]:7480"}) {
    rebound.headers["Host"] = host;
    rebound.headers["Origin"] = std::string("http://") + host;
    EXPECT_EQ(Judge(rebound), 0) << host;
  }
}

TEST_F(HttpAccessTest, APageOfAnotherSiteReadsNothingOnThisMachine) {
  Use(HttpAccess::Anonymous::kViewer);
  const auto at = [this](std::string_view route, const std::string& address, const std::string& host) {
    HttpRequest request = Request(route, false);
    request.peer = std::make_shared<http::HttpPeer>(http::HttpPeer{address, false});
    request.headers["Host"] = host;
    return Judge(request);
  };
  for (const char* route : {"GET /api/v1/sites", "GET /api/v1/events", "GET /metrics", "GET /"}) {
    EXPECT_EQ(at(route, "127.0.0.1:5000", "evil.example:7480"), 421) << route;
    EXPECT_EQ(at(route, "127.0.0.1:5000", "localhost:7480"), 0) << route;
    EXPECT_EQ(at(route, "192.0.2.7:5000", "aggregator:7480"), 0) << route << " of another machine";
  }
  HttpRequest token = ByToken("GET /api/v1/sites", "operating");
  token.peer = std::make_shared<http::HttpPeer>(http::HttpPeer{"127.0.0.1:5000", false});
  token.headers["Host"] = "board.example";
  EXPECT_EQ(Judge(token), 0) << "a token is no browser's doing";
}

TEST_F(HttpAccessTest, TakesNoTokenThatIsNotQuiteOne) {
  const std::string token = texts_.at("operating");
  for (const std::string& given : std::vector<std::string>{
           "Bearer", "Bearer ", "Basic " + token, token, "Bearer " + token + "0", "Bearer " + token.substr(1),
           "Bearer " + token.substr(0, token.size() - 1), "Bearer " + token + ", Bearer " + token}) {
    HttpRequest request = Request("GET /api/v1/runs");
    request.headers["Authorization"] = given;
    EXPECT_EQ(Judge(request), 401) << given;
    EXPECT_THAT(said_, Not(HasSubstr(token.substr(20)))) << "nobody repeats a token";
  }
  HttpRequest request = Request("GET /api/v1/runs");
  request.headers["Authorization"] = "bearer  " + token;
  EXPECT_EQ(Judge(request), 0) << "the scheme has no case (RFC 9110, section 11.1)";
}

// Whoever shows wrong tokens learns nothing and fills no log. The good ones of that address stay good.
TEST_F(HttpAccessTest, AnAddressThatShowsManyWrongTokensIsToldToWait) {
  const auto from = [this](const std::string& address, const std::string& token) {
    HttpRequest request = ByToken(kJoin, token);
    request.peer = std::make_shared<http::HttpPeer>(http::HttpPeer{address, true});
    return Judge(request);
  };
  for (int i = 0; i < AttemptLimit::kMostAMinute; ++i) EXPECT_EQ(from("192.0.2.7:1", "revoked"), 401) << i;
  EXPECT_EQ(from("192.0.2.7:2", "revoked"), 429);
  EXPECT_EQ(from("192.0.2.7:2", "joining"), 0);
  EXPECT_EQ(from("192.0.2.8:2", "revoked"), 401);
  for (int i = 0; i < AttemptLimit::kMostAMinute; ++i)
    EXPECT_EQ(from("[2001:db8::1]:1", "revoked"), 401) << i;
  EXPECT_EQ(from("[2001:db8::ffff]:1", "revoked"), 429) << "one host commands its 64 bits of network";
  clock_.Advance(std::int64_t{60} * 1'000'000'000);
  EXPECT_EQ(from("192.0.2.7:2", "revoked"), 401);
  runtime::Metrics metrics;
  metrics.AddCollector([this](runtime::Reading& reading) { control_.Collect(reading); });
  EXPECT_THAT(metrics.Text(), HasSubstr("tributary_calls_refused_total{reason=\"attempts\"} 2"));
}

// Strangers must not push the lines of what operators did out of the audit log.
TEST_F(HttpAccessTest, RefusedCallsLeaveTwentyLinesInTheAuditLogAndThenOneAMinute) {
  const std::string path = OwnFolder() + "refused.jsonl";
  audit_ = AuditLog::Open(path, clock_).value();
  Use(HttpAccess::Anonymous::kNobody);
  for (int i = 0; i < 5'000; ++i) EXPECT_EQ(Judge(Request("DELETE /api/v1/runs/{run}")), 401);
  EXPECT_EQ(Judge(ByToken("DELETE /api/v1/runs/{run}", "viewing")), 403);
  clock_.Advance(std::int64_t{60} * 1'000'000'000);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Judge(Request("DELETE /api/v1/runs/{run}")), 401);
  access_.reset();
  audit_.reset();
  const std::string text = runtime::ReadFile(path).value();
  EXPECT_EQ(std::ranges::count(text, '\n'), 22);
  EXPECT_THAT(text, HasSubstr("4980 lines like this one were left out"));
  EXPECT_THAT(text, HasSubstr("\"name\":\"viewing\""));
  std::filesystem::remove(path);
}

TEST_F(HttpAccessTest, ASessionEndsWithItsTokenItsTimeAndItsLogout) {
  const std::string route = "GET /api/v1/runs";
  HttpRequest request = BySession(route, "viewing");
  EXPECT_EQ(Judge(request), 0);
  ASSERT_TRUE(set_.Remove("viewing").ok());
  Use(HttpAccess::Anonymous::kNobody);
  EXPECT_EQ(Judge(request), 401) << "revoked";

  HttpRequest other = BySession(route, "operating");
  EXPECT_EQ(Judge(other), 0);
  sessions_.Close(CookieOf(other, "__Host-tributary-session"));
  EXPECT_EQ(Judge(other), 401);

  const std::string secret = sessions_.Open("id", kNowS).value();
  EXPECT_EQ(sessions_.TokenOf(secret, kNowS + Sessions::kLifetimeS - 1), "id");
  EXPECT_EQ(sessions_.TokenOf(secret, kNowS + Sessions::kLifetimeS), "");
}

TEST_F(HttpAccessTest, CountsEveryRefusalByItsReason) {
  EXPECT_EQ(Judge(Request("GET /metrics")), 401);
  EXPECT_EQ(Judge(ByToken("GET /metrics", "expired")), 401);
  HttpRequest foreign = BySession("POST /api/v1/runs", "operating");
  foreign.headers["Origin"] = "https://evil.example";
  EXPECT_EQ(Judge(foreign), 403);
  EXPECT_EQ(Judge(ByToken("POST /api/v1/runs", "viewing")), 403);
  runtime::Metrics metrics;
  metrics.AddCollector([this](runtime::Reading& reading) { control_.Collect(reading); });
  for (const char* reason : {"unknown", "token", "origin", "role"}) {
    EXPECT_THAT(metrics.Text(),
                HasSubstr(std::string("tributary_calls_refused_total{reason=\"") + reason + "\"} 1"));
  }
}

TEST(SessionsTest, AreBoundedInAllAndPerToken) {
  Sessions sessions;
  const std::string first = sessions.Open("a", 0).value();
  for (std::size_t i = 1; i < Sessions::kMostOfToken; ++i) ASSERT_TRUE(sessions.Open("a", 0).ok());
  EXPECT_EQ(sessions.TokenOf(first, 0), "a");
  const std::string next = sessions.Open("a", 0).value();
  EXPECT_EQ(sessions.TokenOf(first, 0), "") << "the oldest made room";
  EXPECT_EQ(sessions.TokenOf(next, 0), "a");
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(sessions.Open(std::to_string(i), 0).ok());
  EXPECT_EQ(sessions.size(), Sessions::kMost);
  ASSERT_TRUE(sessions.Open("b", Sessions::kLifetimeS).ok());
  EXPECT_EQ(sessions.size(), 1u) << "those that have expired are forgotten";
}

}  // namespace
}  // namespace tributary::access
