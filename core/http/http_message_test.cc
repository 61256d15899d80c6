#include "core/http/http_message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tributary::http {
namespace {

TEST(HttpMessageTest, TakesATargetApart) {
  const auto request = ParseHttpTarget("/api/v1/sites/north%20hall?site=a+b&rate_hz=5&flag&site=c#top");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->path, "/api/v1/sites/north hall");
  EXPECT_EQ(request->query.at("site"), "c");
  EXPECT_EQ(request->query.at("rate_hz"), "5");
  EXPECT_EQ(request->query.at("flag"), "");
}

TEST(HttpMessageTest, NamesEveryFaultByACodeOfGrpc) {
  const auto body = [](const HttpResponse& response) { return nlohmann::json::parse(response.body); };
  const std::vector<std::pair<int, std::string>> codes = {
      {400, "INVALID_ARGUMENT"}, {401, "UNAUTHENTICATED"},   {403, "PERMISSION_DENIED"},
      {404, "NOT_FOUND"},        {405, "UNIMPLEMENTED"},     {409, "FAILED_PRECONDITION"},
      {413, "INVALID_ARGUMENT"}, {415, "INVALID_ARGUMENT"},  {429, "RESOURCE_EXHAUSTED"},
      {431, "INVALID_ARGUMENT"}, {500, "INTERNAL"},          {501, "UNIMPLEMENTED"},
      {503, "UNAVAILABLE"},      {504, "DEADLINE_EXCEEDED"}, {418, "UNKNOWN"}};
  for (const auto& [status, code] : codes) {
    const HttpResponse response = HttpProblem(status, "so");
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(body(response), (nlohmann::json{{"code", code}, {"error", "so"}}));
  }
  const HttpResponse exists = HttpProblem(absl::AlreadyExistsError("twice"));
  EXPECT_EQ(exists.status, 409);
  EXPECT_EQ(body(exists)["code"], "ALREADY_EXISTS");
  EXPECT_EQ(HttpProblem(absl::DataLossError("")).status, 500);
  EXPECT_EQ(HttpProblem(absl::CancelledError("")).status, 500) << "a code without a row";
}

TEST(HttpMessageTest, RefusesWhatIsNoTarget) {
  for (const char* target : {"", "x", "*", "http://host/", "/%", "/%4", "/%zz", "/%00", "/a?b=%0a"}) {
    EXPECT_FALSE(ParseHttpTarget(target).ok()) << target;
  }
}

}  // namespace
}  // namespace tributary::http
