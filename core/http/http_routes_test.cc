#include "core/http/http_routes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::http {
namespace {

TEST(HttpRoutesTest, FindsTheMostExactPatternOfTheMethod) {
  HttpRoutes routes;
  const std::vector<std::pair<HttpMethod, std::string>> all = {{HttpMethod::kGet, "/runs"},
                                                               {HttpMethod::kPost, "/runs"},
                                                               {HttpMethod::kGet, "/runs/{run}"},
                                                               {HttpMethod::kDelete, "/runs/{run}"},
                                                               {HttpMethod::kPost, "/runs/{run}/stop"},
                                                               {HttpMethod::kGet, "/models/{digest}.bin"},
                                                               {HttpMethod::kGet, "/pages/"}};
  for (const auto& [method, pattern] : all) routes.Add({.method = method, .pattern = pattern, .handler = {}});
  const auto found = [&](HttpMethod method, std::string_view path) {
    const HttpRoutes::Match match = routes.Find(method, path);
    return match.route == nullptr ? std::string("none") : std::string(match.name) + " " + match.rest;
  };
  EXPECT_EQ(found(HttpMethod::kGet, "/runs"), "GET /runs ");
  EXPECT_EQ(found(HttpMethod::kPost, "/runs"), "POST /runs ");
  EXPECT_EQ(found(HttpMethod::kGet, "/runs/a/stop"), "GET /runs/{run} a/stop") << "a name may have a slash";
  EXPECT_EQ(found(HttpMethod::kPost, "/runs/a/b/stop"), "POST /runs/{run}/stop a/b");
  EXPECT_EQ(found(HttpMethod::kGet, "/models/ab.bin"), "GET /models/{digest}.bin ab");
  EXPECT_EQ(found(HttpMethod::kGet, "/pages/x/y"), "GET /pages/ x/y");
  for (const char* path : {"/run", "/runs2", "/models/ab.txt", "/models/.bi", ""}) {
    EXPECT_EQ(found(HttpMethod::kGet, path), "none") << path;
  }
  EXPECT_EQ(routes.Find(HttpMethod::kPost, "/runs/a").allowed,
            (std::set<std::string>{"DELETE", "GET", "HEAD"}));
  EXPECT_TRUE(routes.Find(HttpMethod::kPost, "/nothing").allowed.empty());
}

}  // namespace
}  // namespace tributary::http
