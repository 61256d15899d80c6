#include "core/http/http_request_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tributary::http {
namespace {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

std::optional<HttpMethod> MethodOf(bhttp::verb verb) {
  switch (verb) {
    case bhttp::verb::get:
    case bhttp::verb::head:
      return HttpMethod::kGet;
    case bhttp::verb::post:
      return HttpMethod::kPost;
    case bhttp::verb::delete_:
      return HttpMethod::kDelete;
    default:
      return std::nullopt;
  }
}

// "application/toml" of "Application/TOML; charset=utf-8".
std::string MediaType(std::string_view value) {
  value = value.substr(0, value.find(';'));
  return absl::AsciiStrToLower(absl::StripAsciiWhitespace({value.data(), value.size()}));
}

HttpResponse NotAllowed(const std::set<std::string>& allowed) {
  HttpResponse response = HttpProblem(405, fmt::format("not allowed here; use {}", fmt::join(allowed, ", ")));
  response.headers.emplace_back("Allow", fmt::format("{}", fmt::join(allowed, ", ")));
  return response;
}

// Whether the parser knows where the message ends (RFC 9112, section 6.1). It takes a message with another
// coding for one without a body. A proxy may pass the body on, which would then be read as a request.
bool EndIsKnown(const HttpParser::value_type& message) {
  if (message.count(bhttp::field::transfer_encoding) == 0) return true;
  return message.version() >= 11 && message.count(bhttp::field::transfer_encoding) == 1 &&
         absl::EqualsIgnoreCase(message[bhttp::field::transfer_encoding].to_string(), "chunked");
}

std::optional<HttpResponse> TakeFields(const HttpParser::value_type& message, HttpRequest& request) {
  for (const auto& field : message) {
    std::string& value = request.headers[std::string(View(field.name_string()))];
    if (!value.empty()) value += ", ";
    value += View(field.value());
  }
  if (message.count(bhttp::field::host) > 1 || message.count(bhttp::field::authorization) > 1) {
    return HttpProblem(400, "Host and Authorization may stand once in the header");
  }
  if (message.version() >= 11 && message.count(bhttp::field::host) == 0) {
    return HttpProblem(400, "a request of HTTP/1.1 has a Host in its header");
  }
  return std::nullopt;
}

std::optional<HttpResponse> FindRoute(const HttpRoutes& routes, bhttp::verb verb, HttpAsked& asked) {
  HttpRequest& request = asked.request;
  const std::optional<HttpMethod> method = MethodOf(verb);
  HttpRoutes::Match match = routes.Find(method.value_or(HttpMethod::kGet), request.path);
  if (match.allowed.empty()) {
    return HttpProblem(404, fmt::format("no such path; there are: {}", routes.Paths()));
  }
  if (!method || match.route == nullptr) return NotAllowed(match.allowed);
  asked.route = match.route;
  request.method = *method;
  request.route = match.name;
  request.rest = std::move(match.rest);
  return std::nullopt;
}

std::optional<HttpResponse> CheckParameters(const HttpAsked& asked) {
  const std::set<std::string>& known = asked.route->parameters;
  for (const auto& [key, value] : asked.request.query) {
    if (known.contains(key)) continue;
    return HttpProblem(400, fmt::format("{}: no such parameter here{}{}", key,
                                        known.empty() ? "" : "; there are: ", fmt::join(known, ", ")));
  }
  return std::nullopt;
}

std::optional<HttpResponse> BoundBody(const HttpLimits& limits, const HttpAsked& asked, HttpParser& parser) {
  if (parser.is_done()) return std::nullopt;
  const HttpRoute& route = *asked.route;
  const std::size_t most = std::min(route.body_bytes, limits.body_bytes);
  if (most == 0) return HttpProblem(413, "a request has no body here");
  if (parser.content_length().value_or(0) > most) {
    return HttpProblem(413, fmt::format("the body has {} bytes, at most {} are allowed here",
                                        *parser.content_length(), most));
  }
  const std::string type = MediaType(asked.request.Header("Content-Type"));
  if (!route.content_types.empty() && !route.content_types.contains(type)) {
    return HttpProblem(415, fmt::format("Content-Type: \"{}\" is not taken here; use {}", type.substr(0, 100),
                                        fmt::join(route.content_types, " or ")));
  }
  parser.body_limit(most);
  return std::nullopt;
}

}  // namespace

std::optional<HttpResponse> TakeHeader(const HttpService& service, const std::shared_ptr<HttpPeer>& peer,
                                       HttpParser& parser, HttpAsked& asked) {
  const auto& message = parser.get();
  asked.head = message.method() == bhttp::verb::head;
  asked.endless = !EndIsKnown(message);
  if (asked.endless) return HttpProblem(501, "Transfer-Encoding: use chunked alone, in HTTP/1.1");
  absl::StatusOr<HttpRequest> parsed = ParseHttpTarget(View(message.target()));
  if (!parsed.ok()) return HttpProblem(400, std::string(parsed.status().message()));
  asked.request = *std::move(parsed);
  asked.request.peer = peer;
  if (auto fault = TakeFields(message, asked.request)) return fault;
  if (auto fault = FindRoute(service.routes, message.method(), asked)) return fault;
  if (service.gate) {
    if (auto refusal = service.gate(asked.request)) return refusal;
  }
  if (auto fault = CheckParameters(asked)) return fault;
  return BoundBody(service.limits, asked, parser);
}

std::optional<HttpResponse> AnswerToFault(const boost::system::error_code& error, const HttpRoute* route) {
  if (error == bhttp::error::header_limit) return HttpProblem(431, "the header is too large");
  if (error == bhttp::error::body_limit || error == bhttp::error::buffer_overflow) {
    return HttpProblem(413, fmt::format("the body has more than the {} bytes that are allowed here",
                                        route == nullptr ? 0 : route->body_bytes));
  }
  const bool broken = error.category() == bhttp::make_error_code(bhttp::error::bad_target).category() &&
                      error != bhttp::error::end_of_stream && error != bhttp::error::partial_message;
  if (broken) return HttpProblem(400, "the request does not parse");
  return std::nullopt;
}

}  // namespace tributary::http
