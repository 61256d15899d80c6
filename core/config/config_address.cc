#include "core/config/config_address.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tributary::config {

void SettleAddress(const ConfigSection& section, std::string_view key, std::string& address,
                   runtime::AddressUse use, const AddressReach& reach) {
  if (const std::string path = runtime::UnixPathOf(address); !path.empty())
    address = "unix:" + section.File(path);
  if (absl::Status status = runtime::CheckAddress(address, use); !status.ok()) {
    section.Fault(key, std::string(status.message()));
  } else if (!reach.allowed && !runtime::IsLoopback(address)) {
    section.Fault(key, fmt::format("\"{}\" is not on the loopback: {}", address, reach.remedy));
  }
}

std::string ReadHttpListen(const ConfigSection& http, std::string_view default_listen, HttpTls tls) {
  std::string listen(default_listen);
  bool insecure = false;
  http.Read("listen", listen,
            "\"\": no HTTP. Several daemons on one machine need a port each; port 0 takes a free one, which "
            "the log names");
  http.Read("insecure", insecure,
            tls == HttpTls::kNever ? "true: HTTP, which has no TLS, may leave the loopback"
                                   : "true: HTTP may leave the loopback without TLS");
  if (listen.empty()) return listen;
  SettleAddress(http, "listen", listen, runtime::AddressUse::kListenHttp,
                {insecure || tls == HttpTls::kOn,
                 tls == HttpTls::kNever
                     ? "HTTP has no TLS; set insecure = true in [http] to expose it (the insecure key for "
                       "gRPC does not apply to HTTP)"
                     : "set tls = true, or to expose it without TLS insecure = true in [http] (the "
                       "insecure key for gRPC does not apply to HTTP)"});
  return listen;
}

}  // namespace tributary::config
