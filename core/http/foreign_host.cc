#include "core/http/foreign_host.h"

#include <limits.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <string>

#include "absl/strings/match.h"
#include "core/runtime/address.h"

namespace tributary::http {
namespace {

// Without the port and the brackets of IPv6.
std::string_view NameIn(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

// The machine's own name, with or without its domain.
bool IsOwnName(std::string_view name) {
  char own[HOST_NAME_MAX + 1] = {};
  if (gethostname(own, HOST_NAME_MAX) != 0 || own[0] == '\0') return false;
  const std::string_view whole = own;
  const auto same = [name](std::string_view known) {
    return absl::EqualsIgnoreCase({name.data(), name.size()}, {known.data(), known.size()});
  };
  return same(whole) || same(whole.substr(0, whole.find('.')));
}

}  // namespace

bool IsOwnHost(std::string_view host) {
  const std::string_view name = NameIn(host);
  if (absl::EqualsIgnoreCase({name.data(), name.size()}, "localhost") || IsOwnName(name)) return true;
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  return !error;
}

std::optional<HttpResponse> RefuseForeignHost(const HttpRequest& request) {
  if (request.peer == nullptr || request.peer->tls || !runtime::IsLoopback(request.peer->address)) {
    return std::nullopt;
  }
  const std::string host = request.Header("Host");
  if (host.empty() || IsOwnHost(host)) return std::nullopt;  // HTTP 1.0: no browser
  return HttpProblem(421,
                     "on this machine the Host is localhost, an address or the machine's own name: another "
                     "name may be a page of "
                     "another site. Behind a proxy, have it send Host: localhost");
}

}  // namespace tributary::http
