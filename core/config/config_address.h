// Keys of a configuration that hold a network address.
#pragma once

#include <string>
#include <string_view>

#include "core/config/config.h"
#include "core/runtime/address.h"

namespace tributary::config {

// Whether an address beyond the loopback is allowed, and what allows it.
struct AddressReach {
  bool allowed = false;
  std::string_view remedy;
};

// Lets the path of a unix socket start at the configuration's folder. Records a fault of a key whose address
// is not one, or leaves this machine without leave.
void SettleAddress(const ConfigSection& section, std::string_view key, std::string& address,
                   runtime::AddressUse use, const AddressReach& reach);

// [http] listen and insecure. Without TLS of its own HTTP needs `insecure` beyond the loopback, whatever the
// gRPC side has. Gives `listen`; empty: no HTTP.
enum class HttpTls { kNever, kOff, kOn };  // kNever: this program has no key for it
std::string ReadHttpListen(const ConfigSection& http, std::string_view default_listen,
                           HttpTls tls = HttpTls::kNever);

}  // namespace tributary::config
