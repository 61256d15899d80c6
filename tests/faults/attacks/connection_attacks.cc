#include <chrono>
#include <deque>
#include <memory>
#include <string_view>
#include <thread>

#include "tests/faults/attacks/attack.h"
#include "tests/faults/attacks/raw_socket.h"

namespace tributary::testing {
namespace {

// Opens connections as fast as they are taken, says `bytes` on each, and keeps the youngest `most` open.
void KeepOpening(const Target& target, std::size_t most, std::string_view bytes) {
  std::deque<std::unique_ptr<RawSocket>> open;
  while (!target.over) {
    auto socket = std::make_unique<RawSocket>(target.port);
    if (!socket->open() || (!bytes.empty() && !socket->Send(bytes))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    open.push_back(std::move(socket));
    if (open.size() > most) open.pop_front();
  }
}

// The first bytes of a TLS handshake, which never goes on.
constexpr std::string_view kHalfHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

constexpr Attack kAttacks[] = {
    {"half_client_hello", [](const Target& target) { KeepOpening(target, 3000, kHalfHello); }},
    {"idle_connections", [](const Target& target) { KeepOpening(target, 3000, ""); }},
};

}  // namespace

std::span<const Attack> ConnectionAttacks() { return kAttacks; }

}  // namespace tributary::testing
