// Which handler answers a request.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/http/http_message.h"

namespace tributary::http {

// On the server's thread: it must be quick. What takes longer is an HttpPending.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

struct HttpRoute {
  HttpMethod method = HttpMethod::kGet;  // GET also answers HEAD
  // "/api/v1/runs/{run}/pause": the braces are a hole that takes any text, slashes too. One hole at most; a
  // pattern that ends in '/' has it at the end. "/" alone is a path.
  std::string pattern;
  HttpHandler handler;
  std::set<std::string> parameters = {};     // what the query may hold; anything else is answered with 400
  std::size_t body_bytes = 0;                // of a body, at most HttpLimits::body_bytes; 0: none is taken
  std::set<std::string> content_types = {};  // of a body, in lower case
};

// The routes of a server, found by method and path.
class HttpRoutes {
 public:
  // Replaces one of the same method and pattern.
  void Add(HttpRoute route);

  struct Match {
    const HttpRoute* route = nullptr;    // null: none
    std::string_view name = {};          // "POST /api/v1/runs/{run}/pause"
    std::string rest = {};               // what stands in the hole
    std::set<std::string> allowed = {};  // without a route: the methods that the path has
  };
  // The pattern with the most characters outside of its hole wins.
  Match Find(HttpMethod method, std::string_view path) const;

  // "GET /api/v1/sites", in the order of the paths.
  std::vector<std::string> Names() const;
  // The paths alone, each once, for who has asked for one that is not there.
  std::string Paths() const;

 private:
  struct Entry {
    HttpRoute route;
    std::string name;
    std::string before, after;  // the hole
    bool hole = false;
  };

  std::vector<Entry> entries_;  // ordered by pattern
};

}  // namespace tributary::http
