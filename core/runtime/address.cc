#include "core/runtime/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "core/status/macros.h"

namespace tributary::runtime {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMaxHostBytes = 253;  // RFC 1035, section 2.3.4
constexpr std::size_t kMaxLabelBytes = 63;  // RFC 1035, section 2.3.4
constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status AddressFault(std::string_view address, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("\"{}\": {}", address, what));
}

struct NumericAddress {
  int family;
  bool loopback;
  std::string normal;  // as the system writes it
};

std::optional<NumericAddress> Numeric(const std::string& text) {
  std::array<char, INET6_ADDRSTRLEN> normal{};
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return NumericAddress{AF_INET, ntohl(v4.s_addr) >> 24 == 127,
                          inet_ntop(AF_INET, &v4, normal.data(), normal.size())};
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return std::nullopt;
  return NumericAddress{AF_INET6, IN6_IS_ADDR_LOOPBACK(&v6) != 0,
                        inet_ntop(AF_INET6, &v6, normal.data(), normal.size())};
}

bool IsLabel(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabelBytes && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
         });
}

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() <= 5 ? std::optional(port) : std::nullopt;
}

}  // namespace

bool IsHostName(std::string_view host) {
  if (host.size() > kMaxHostBytes) return false;
  const std::vector<std::string> labels = absl::StrSplit(std::string(host), '.');
  return std::ranges::all_of(labels, IsLabel) &&
         !std::ranges::all_of(labels.back(), [](char c) { return absl::ascii_isdigit(c); });
}

absl::StatusOr<HostPort> ParseHostPort(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const bool bracketed = address.starts_with('[');
  const std::size_t bracket = address.find(']');
  if (colon == std::string_view::npos ||
      (bracketed && (bracket == std::string_view::npos || colon < bracket))) {
    return AddressFault(address, "has no port; expected host:port");
  }
  const std::optional<std::uint16_t> port = ParsePort(address.substr(colon + 1));
  if (!port) return AddressFault(address, "the port must be a number from 0 to 65535; expected host:port");
  std::string host(address.substr(0, colon));
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
    const auto numeric = Numeric(host);
    if (bracket + 1 != colon || !numeric || numeric->family != AF_INET6) {
      return AddressFault(address, "expected an IPv6 address in the brackets: [::1]:port");
    }
    return HostPort{host, *port};
  }
  if (host.empty())
    return AddressFault(address, "has no host; for every interface of this machine, write 0.0.0.0 or [::]");
  if (host.find(':') != std::string::npos) {
    return AddressFault(address, "expected host:port, with an IPv6 address in brackets: [::1]:port");
  }
  if (!Numeric(host) && !IsHostName(host))
    return AddressFault(address, fmt::format("\"{}\" is neither a host name nor an IP address", host));
  return HostPort{host, *port};
}

absl::Status CheckAddress(std::string_view address, AddressUse use) {
  if (use != AddressUse::kListenHttp && address.starts_with(kUnix)) {
    const std::size_t path = address.size() - kUnix.size();
    if (path > 0 && path <= kMaxUnixPath) return absl::OkStatus();
    return AddressFault(
        address, fmt::format("the path of a unix socket has 1 to {} bytes, found {}", kMaxUnixPath, path));
  }
  ASSIGN_OR_RETURN(const HostPort parsed, ParseHostPort(address));
  if (use == AddressUse::kDial && parsed.port == 0) {
    return AddressFault(address, "port 0 is for listeners only; expected a port from 1 to 65535");
  }
  return absl::OkStatus();
}

std::string UnixPathOf(std::string_view address) {
  return address.starts_with(kUnix) ? std::string(address.substr(kUnix.size())) : "";
}

std::string WhyNotListen(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another process listens there; stop it or set another port, or port 0 for any free one";
    case EADDRNOTAVAIL:
      return "this machine has no such address; `ip address` lists those it has";
    case EACCES:
      return "a port below 1024 needs a privilege, and a unix socket a folder that may be written";
    default:
      return std::strerror(error);
  }
}

bool IsLoopback(std::string_view address) {
  if (address.starts_with(kUnix)) return true;
  const absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return false;
  if (absl::AsciiStrToLower(parsed->host) == "localhost") return true;
  const auto numeric = Numeric(parsed->host);
  return numeric && numeric->loopback;
}

bool Reaches(std::string_view dialled, std::string_view listener) {
  if (dialled.starts_with(kUnix) || listener.starts_with(kUnix)) return dialled == listener;
  const absl::StatusOr<HostPort> to = ParseHostPort(dialled);
  const absl::StatusOr<HostPort> at = ParseHostPort(listener);
  if (!to.ok() || !at.ok() || to->port != at->port || at->port == 0) return false;
  const auto normal = [](const std::string& host) {
    const auto numeric = Numeric(host);
    return numeric ? numeric->normal : absl::AsciiStrToLower(host);
  };
  if (normal(to->host) == normal(at->host)) return true;
  const bool anywhere = normal(at->host) == "0.0.0.0" || normal(at->host) == "::";
  return IsLoopback(dialled) && (anywhere || IsLoopback(listener));
}

absl::StatusOr<std::string> NormalIpAddress(std::string_view address) {
  if (const auto numeric = Numeric(std::string(address))) return numeric->normal;
  return AddressFault(address, "is not a numeric IPv4 or IPv6 address");
}

}  // namespace tributary::runtime
