#include "aggregator/publish/page.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace tributary::publish {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";

// Whether a list such as `gzip;q=0.5, br` or `text/html, *` names `token` without refusing it by q=0.
bool Accepts(const std::string& list, const char* token) {
  for (const absl::string_view each : absl::StrSplit(list, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(each, absl::MaxSplits(';', 1));
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts.first), token)) continue;
    const absl::string_view quality = absl::StripAsciiWhitespace(parts.second);
    return quality.find_first_not_of("qQ= 0.") != absl::string_view::npos || quality.empty();
  }
  return false;
}

bool Holds(const std::string& if_none_match, const std::string& tag) {
  for (const absl::string_view each : absl::StrSplit(if_none_match, ',')) {
    const absl::string_view known = absl::StripAsciiWhitespace(each);
    if (known == "*" || known == tag) return true;
  }
  return false;
}

http::HttpResponse Answer(const PageFile& file, const http::HttpRequest& request) {
  // Weak: it stands for the compressed variant, too.
  const std::string tag = fmt::format("W/\"{}\"", file.digest);
  const bool page = file.path == "/";
  http::HttpResponse response;
  response.content_type = file.content_type;
  response.headers = {
      {"Cache-Control", page ? "no-cache" : "public, max-age=31536000, immutable"},
      {"ETag", tag},
      {"Vary", "Accept-Encoding"},
      {"Content-Security-Policy", std::string(kPolicy)},
      {"Referrer-Policy", "no-referrer"},
      {"X-Frame-Options", "DENY"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  if (Holds(request.Header("if-none-match"), tag)) {
    response.status = 304;
    return response;
  }
  const bool packed = !file.gzip.empty() && Accepts(request.Header("accept-encoding"), "gzip");
  if (packed) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = packed ? file.gzip : file.plain;
  return response;
}

}  // namespace

void AddPageRoutes(http::HttpServer& server, std::span<const PageFile> files) {
  const auto serve = [files](const http::HttpRequest& request) -> http::HttpAnswer {
    for (const PageFile& file : files) {
      if (file.path == request.path) return Answer(file, request);
    }
    return http::HttpProblem(404, "the page has no such file: load it again");
  };
  for (const PageFile& file : files) {
    if (file.path == "/") server.AddHeader("Tributary-Page", std::string(file.digest));
  }
  server.Route("/", serve);
  server.Route("/assets/", serve);
}

}  // namespace tributary::publish
