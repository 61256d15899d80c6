#include "core/wire/peer.h"

#include <grpc/grpc_security_constants.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"

namespace tributary::wire {
namespace {

bool Says(std::string_view message, std::string_view words) {
  return message.find(words) != std::string_view::npos;
}

// At most 4 kB in gRPC's percent-encoding, with an ellipsis if something was cut off.
std::string Shortened(std::string text) {
  constexpr std::size_t kMaxBytes = 4096;
  std::size_t sent = 0, character = 0, end = 0;  // `character`: where the present one begins
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) character = i;
    if (sent + 9 <= kMaxBytes) end = character;  // an ellipsis has three bytes, each sent as three
    sent += byte < 0x20 || byte > 0x7e || byte == '%' ? 3 : 1;
  }
  if (sent > kMaxBytes) text.replace(end, std::string::npos, "…");
  return text;
}

}  // namespace

std::string PeerText(const std::string& text, std::size_t most_bytes) {
  // Quotes are harmless, and common in messages. So are backslashes: what is escaped already stays as it is.
  return absl::StrReplaceAll(absl::CHexEscape(text.substr(0, most_bytes)),
                             {{"\\\"", "\""}, {"\\'", "'"}, {"\\\\", "\\"}});
}

std::string HandshakeAdvice(std::string_view message) {
  if (Says(message, "Trying to connect an http1.x server")) {
    return "HTTP is served there, not gRPC: give the aggregator's `listen`, not that of [http]";
  }
  if (Says(message, "missing selected ALPN property")) {
    return "no gRPC is served there, perhaps HTTPS: give the aggregator's `listen`, not that of [http]";
  }
  if (Says(message, "C-ares status") || Says(message, "DNS resolution failed")) {
    return "no such host: check the name, or give an address";
  }
  // gRPC 1.51's words for a connection that nobody answers in time.
  for (const char* words : {"tcp handshaker shutdown", "FD Shutdown", "Connection timed out"}) {
    if (Says(message, words)) {
      return "no answer: check the address and the network, or the aggregator turns this host away for a "
             "while, as its log then says";
    }
  }
  for (const char* words : {"timed out before receiving SETTINGS", "Handshake read failed"}) {
    if (Says(message, words)) {
      return "connected, but no answer came: another service, an aggregator that is stopped, overloaded or "
             "turns this host away for a while (its log then says so), or a network with a round trip of "
             "more than half a second";
    }
  }
  if (Says(message, "keepalive watchdog timeout")) {
    return "the connection has gone silent: the aggregator is stopped, or the network is down";
  }
  if (Says(message, "wrong version number") || Says(message, "packet length too long")) {
    return "no TLS at that address: leave out certificate, key and ca, or fill [tls] there";
  }
  if (Says(message, "is not in peer certificate")) {
    return "the peer's certificate does not hold this address: use the name on the certificate, or make one "
           "that "
           "holds the address: tributary certs --server NAME=ADDRESS";
  }
  if (Says(message, "certificate has expired") || Says(message, "certificate is not yet valid")) {
    return "the peer's certificate is out of its time: check both clocks, or make a new one there";
  }
  // A wrong signature: another CA of the same name.
  if (Says(message, "EVP lib")) {
    return "the peer's certificate is not signed by the CA in the ca file: give the ca.pem that was made "
           "together with the peer's certificate";
  }
  // OpenSSL does not tell whether the use or the CA was wrong.
  if (Says(message, "certificate verify failed") || Says(message, "CERTIFICATE_VERIFY_FAILED")) {
    return "the peer's certificate is not signed by the CA in the ca file (give the ca.pem that was made "
           "together with it), or is of another use: an aggregator takes one of `tributary certs --server`, "
           "who "
           "connects to it takes one of --name";
  }
  if (Says(message, "Ssl handshake failed")) {
    return "the TLS handshake failed: check certificate, key and ca on both sides";
  }
  return "";
}

bool NobodyListens(std::string_view message) {
  return Says(message, "failed to connect to all addresses") &&
         (message.ends_with(": Connection refused") || message.ends_with(": No such file or directory"));
}

absl::Status PeerStatus(const grpc::Status& status) {
  if (NobodyListens(status.error_message())) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::string_view(kNobodyListens.data(), kNobodyListens.size()));
  }
  const std::string advice = HandshakeAdvice(status.error_message());
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      advice.empty() ? PeerText(status.error_message()) : advice);
}

absl::Status StreamEnd(const grpc::Status& status) {
  return status.ok() ? absl::UnavailableError("the aggregator ended the stream") : PeerStatus(status);
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Shortened(std::string(status.message())));
}

std::optional<std::string> PeerCertificateName(const grpc::AuthContext& context) {
  if (!context.IsPeerAuthenticated()) return std::nullopt;
  const auto names = context.FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  // Authenticated but without a name: equal to no node's name.
  return names.empty() ? std::string() : std::string(names.front().data(), names.front().size());
}

}  // namespace tributary::wire
