// Work that comes all at once, or of which nobody is left to blame.
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/attacks/attack.h"
#include "tests/faults/attacks/evil_hello.h"
#include "tests/faults/attacks/frames.h"
#include "tests/faults/attacks/raw_socket.h"
#include "tests/faults/attacks/tls_socket.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;

constexpr const char* kCheck = "/grpc.health.v1.Health/Check";

// Each connection makes a call, and sends a record of TLS but for its last byte; then all last bytes follow.
// A record is decrypted whole.
void CompleteRecordsTogether(const Target& target) {
  const TlsIdentity identity(target);
  if (!identity.ok()) return;  // nothing is refused, so nothing passes
  std::string garbage;
  for (std::uint32_t stream = 3; garbage.size() < 16'000; stream += 2) garbage += WithoutAPath(stream);
  while (!target.over) {
    struct Staged {
      std::unique_ptr<TlsSocket> socket;
      std::string last;
    };
    std::vector<Staged> staged;
    for (int i = 0; i < 100 && !target.over; ++i) {
      auto socket = std::make_unique<TlsSocket>(target.port, identity);
      if (!socket->open() || !socket->Send(Preface() + WholeCall(1, CallHeaders(kCheck)))) continue;
      std::string record = socket->Sealed(garbage);
      std::string last(1, record.back());
      record.pop_back();
      if (socket->SendRaw(record)) staged.push_back({std::move(socket), std::move(last)});
    }
    std::this_thread::sleep_for(milliseconds(200));
    for (const Staged& each : staged) each.socket->SendRaw(each.last);
    std::this_thread::sleep_for(milliseconds(500));
  }
}

// One connection after the other, always from the same port, and each is reset before anybody looks.
void ReuseAPort(const Target& target) {
  const std::string headers = CallHeaders(kCheck);
  while (!target.over) {
    RawSocket socket(target.port, 2, 21'000);
    socket.EndWithReset();
    if (!socket.open() || !socket.Send(Preface() + WholeCall(1, headers))) continue;
    std::this_thread::sleep_for(milliseconds(1));
    std::string bytes;
    for (std::uint32_t stream = 3; stream < 603; stream += 2) bytes += WithoutAPath(stream);
    socket.Send(bytes);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// Streams that report nothing, and calls without a path beside them.
void ReportBesideGarbage(const Target& target) {
  const std::string headers = CallHeaders("/tributary.v1.FusionService/Report");
  std::vector<std::jthread> connections;
  for (int i = 0; i < 60; ++i) {
    connections.emplace_back([&target, &headers, i] {
      const std::string hello = EvilHello(fmt::format("evil-{}", i), i, 1);
      OnConnections(target, [&](RawSocket& socket) {
        bool open =
            socket.Send(Frame(kHeaders, kEndHeaders, 1, headers) + Frame(kData, 0, 1, Message(hello)));
        std::this_thread::sleep_for(milliseconds(20));
        for (std::uint32_t stream = 3; open && !target.over;) {
          std::string bytes;
          for (int n = 0; n < 50; ++n, stream += 2)
            bytes += Frame(kData, 0, 1, Message("")) + WithoutAPath(stream);
          open = socket.Send(bytes);
        }
      });
    });
  }
}

// Many connections with calls that wait end in the same moment.
void EndTogether(const Target& target) {
  const std::string headers = CallHeaders("/tributary.v1.FederationService/Participate");
  while (!target.over) {
    std::vector<std::unique_ptr<RawSocket>> open;
    for (int i = 0; i < 480 && !target.over; ++i) {
      auto socket = std::make_unique<RawSocket>(target.port);
      if (!socket->open()) continue;
      if (!socket->Send(Preface() + WholeCall(1, headers) + WholeCall(3, headers))) continue;
      open.push_back(std::move(socket));
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    std::this_thread::sleep_for(milliseconds(300));
    open.clear();
  }
}

// Whoever has no certificate makes some: 300 small ones, of which none is valid. OpenSSL takes each apart,
// and tries to make a chain of them, before it refuses them.
std::shared_ptr<SSL_CTX> LongChain() {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
  for (int i = 0; i < 300; ++i) {
    X509* const made = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(made), i);
    X509_gmtime_adj(X509_getm_notBefore(made), -2);
    X509_gmtime_adj(X509_getm_notAfter(made), -1);
    const auto* const subject = reinterpret_cast<const unsigned char*>(i % 2 == 0 ? "A" : "B");
    const auto* const issuer = reinterpret_cast<const unsigned char*>(i % 2 == 0 ? "B" : "A");
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC, subject, 1, -1, 0);
    X509_NAME_add_entry_by_txt(X509_get_issuer_name(made), "CN", MBSTRING_ASC, issuer, 1, -1, 0);
    X509_set_pubkey(made, key.get());
    X509_sign(made, key.get(), nullptr);
    if (i == 0) {
      SSL_CTX_use_certificate(context.get(), made);
      X509_free(made);
    } else {
      SSL_CTX_add0_chain_cert(context.get(), made);
    }
  }
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  return context;
}

// From forty addresses at the same instant, again and again.
void SendLongChains(const Target& target) {
  constexpr std::uint32_t kHosts = 40;
  const std::shared_ptr<SSL_CTX> chain = LongChain();
  while (!target.over) {
    std::vector<std::jthread> hosts;
    for (std::uint32_t host = 3; host < 3 + kHosts; ++host) {
      hosts.emplace_back([&target, &chain, host] {
        const TlsSocket socket(target.port, chain.get(), host);
        std::this_thread::sleep_for(milliseconds(200));
      });
    }
  }
}

constexpr Attack kAttacks[] = {
    {"long_chains", SendLongChains}, {"tls_records_at_once", CompleteRecordsTogether},
    {"reused_port", ReuseAPort},     {"reports_beside_garbage", ReportBesideGarbage},
    {"ends_together", EndTogether},
};

}  // namespace

std::span<const Attack> CrowdAttacks() { return kAttacks; }

}  // namespace tributary::testing
