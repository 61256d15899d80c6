// Work that comes all at once, or of which nobody is left to blame.
#include <fmt/format.h>

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

constexpr Attack kAttacks[] = {
    {"tls_records_at_once", CompleteRecordsTogether},
    {"reused_port", ReuseAPort},
    {"reports_beside_garbage", ReportBesideGarbage},
    {"ends_together", EndTogether},
};

}  // namespace

std::span<const Attack> CrowdAttacks() { return kAttacks; }

}  // namespace tributary::testing
