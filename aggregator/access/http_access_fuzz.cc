// Any headers of a request, one a line: nobody without a good token makes a call of operators.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "aggregator/access/http_access.h"

namespace {

using namespace tributary;  // NOLINT(google-build-using-namespace)

access::HttpAccess& Access() {
  static const runtime::ManualClock clock{1'000'000'000};
  static access::AccessControl control(access::AccessPolicy(), clock);
  static access::Sessions sessions;
  static const access::LiveTokens& tokens = []() -> const access::LiveTokens& {
    config::TokenSet set;
    auto token = config::MakeToken("laptop", config::TokenRole::kOperator, 0, 1'000);
    if (!token.ok() || !set.Add(token->record).ok()) std::abort();
    if (!sessions.Open(token->record.id, 0).ok()) std::abort();
    return *new access::LiveTokens("", std::move(set), clock);
  }();
  static access::HttpAccess made(control, tokens, sessions, access::HttpAccess::Anonymous::kViewer, clock,
                                 nullptr);
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  http::HttpRequest request;
  request.method = http::HttpMethod::kPost;
  request.route = "POST /api/v1/runs/{run}/stop";
  request.peer = std::make_shared<http::HttpPeer>(http::HttpPeer{"192.0.2.7:5000", size % 2 == 0});
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(reinterpret_cast<const char*>(bytes), size), '\n')) {
    const std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    request.headers[field.first] = field.second;
  }
  if (!Access().Judge(request)) std::abort();
  return 0;
}
