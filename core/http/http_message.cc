#include "core/http/http_message.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "core/status/macros.h"

namespace tributary::http {
namespace {

absl::StatusOr<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const std::string_view digits = text.substr(i + 1, 2);
      unsigned char byte = 0;
      if (digits.size() < 2 ||
          std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr != digits.data() + 2) {
        return absl::InvalidArgumentError("a percent escape needs two hexadecimal digits");
      }
      c = static_cast<char>(byte);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError("control characters are not allowed");
    }
    decoded.push_back(c);
  }
  return decoded;
}

// The HTTP status of each of gRPC's codes, and back: the first row with a status names its code.
struct CodeRow {
  absl::StatusCode code;
  int status;
};
constexpr CodeRow kCodes[] = {
    {absl::StatusCode::kInvalidArgument, 400},   {absl::StatusCode::kUnauthenticated, 401},
    {absl::StatusCode::kPermissionDenied, 403},  {absl::StatusCode::kNotFound, 404},
    {absl::StatusCode::kUnimplemented, 405},     {absl::StatusCode::kUnimplemented, 501},
    {absl::StatusCode::kDeadlineExceeded, 504},  {absl::StatusCode::kFailedPrecondition, 409},
    {absl::StatusCode::kAlreadyExists, 409},     {absl::StatusCode::kAborted, 409},
    {absl::StatusCode::kOutOfRange, 400},        {absl::StatusCode::kInvalidArgument, 413},
    {absl::StatusCode::kInvalidArgument, 415},   {absl::StatusCode::kInvalidArgument, 431},
    {absl::StatusCode::kResourceExhausted, 429}, {absl::StatusCode::kUnavailable, 503},
    {absl::StatusCode::kInternal, 500},          {absl::StatusCode::kDataLoss, 500},
};

HttpResponse Problem(int status, absl::StatusCode code, std::string_view error) {
  const nlohmann::ordered_json problem = {{"code", absl::StatusCodeToString(code)}, {"error", error}};
  return HttpJson(problem.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), status);
}

}  // namespace

std::string_view MethodName(HttpMethod method) {
  switch (method) {
    case HttpMethod::kPost:
      return "POST";
    case HttpMethod::kDelete:
      return "DELETE";
    case HttpMethod::kGet:
      break;
  }
  return "GET";
}

bool FieldNameLess::operator()(std::string_view a, std::string_view b) const {
  const auto lower = [](char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); };
  return std::ranges::lexicographical_compare(a, b, {}, lower, lower);
}

HttpResponse HttpJson(const std::string& json, int status) {
  return {status, "application/json", json + "\n"};
}

HttpResponse HttpProblem(int status, std::string_view error) {
  const auto* const row = std::ranges::find(kCodes, status, &CodeRow::status);
  return Problem(status, row == std::end(kCodes) ? absl::StatusCode::kUnknown : row->code, error);
}

HttpResponse HttpProblem(const absl::Status& status) {
  const auto* const row = std::ranges::find(kCodes, status.code(), &CodeRow::code);
  return Problem(row == std::end(kCodes) ? 500 : row->status, status.code(),
                 std::string_view(status.message().data(), status.message().size()));
}

absl::StatusOr<HttpRequest> ParseHttpTarget(std::string_view target) {
  if (target.empty() || target.front() != '/')
    return absl::InvalidArgumentError("the target must begin with '/'");
  target = target.substr(0, target.find('#'));
  const std::size_t question = std::min(target.find('?'), target.size());
  HttpRequest request;
  ASSIGN_OR_RETURN(request.path, Decode(target.substr(0, question), false));
  for (const absl::string_view pair : absl::StrSplit(
           absl::ClippedSubstr({target.data(), target.size()}, question + 1), '&', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    ASSIGN_OR_RETURN(std::string key, Decode(parts.first, true));
    ASSIGN_OR_RETURN(std::string value, Decode(parts.second, true));
    request.query.insert_or_assign(std::move(key), std::move(value));
  }
  return request;
}

}  // namespace tributary::http
