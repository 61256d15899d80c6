#include "aggregator/server/address_filter.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace tributary::server {
namespace {

constexpr std::uint32_t kPass = 0xffffffff, kDrop = 0;
// Where the sender stands in the header of an IP packet.
constexpr std::uint32_t kSenderV4 = 12, kSenderV6 = 8;

constexpr std::uint16_t kLoadWord = BPF_LD | BPF_W | BPF_ABS, kLoadHalf = BPF_LD | BPF_H | BPF_ABS,
                        kIfEqual = BPF_JMP | BPF_JEQ | BPF_K, kSkipAlways = BPF_JMP | BPF_JA,
                        kReturn = BPF_RET | BPF_K;

// Four bytes of the network's header, `at` bytes from its beginning.
sock_filter LoadSender(std::uint32_t at) {
  return {kLoadWord, 0, 0, static_cast<std::uint32_t>(SKF_NET_OFF) + at};
}

sock_filter Return(std::uint32_t what) { return {kReturn, 0, 0, what}; }

// Skips so many if what was loaded is `value`, and so many else.
sock_filter Skip(std::uint32_t value, std::uint8_t if_it_is, std::uint8_t otherwise) {
  return {kIfEqual, if_it_is, otherwise, value};
}

// Four bytes of an address, as they are on the wire.
std::uint32_t WordAt(const void* address, std::size_t byte) {
  std::uint32_t word = 0;
  std::memcpy(&word, static_cast<const char*>(address) + byte, sizeof(word));
  return ntohl(word);
}

std::vector<sock_filter> AgainstV4(std::span<const std::string> addresses) {
  std::vector<sock_filter> code = {LoadSender(kSenderV4)};
  for (const std::string& each : addresses) {
    in_addr address{};
    if (inet_pton(AF_INET, each.c_str(), &address) != 1) continue;
    code.insert(code.end(), {Skip(WordAt(&address, 0), 0, 1), Return(kDrop)});
  }
  code.push_back(Return(kPass));
  return code;
}

// By networks of 64 bits.
std::vector<sock_filter> AgainstV6(std::span<const std::string> addresses) {
  std::vector<sock_filter> code;
  for (const std::string& each : addresses) {
    in6_addr network{};
    if (inet_pton(AF_INET6, each.substr(0, each.find('/')).c_str(), &network) != 1) continue;
    code.insert(code.end(), {LoadSender(kSenderV6), Skip(WordAt(&network, 0), 0, 3),
                             LoadSender(kSenderV6 + 4), Skip(WordAt(&network, 4), 0, 1), Return(kDrop)});
  }
  code.push_back(Return(kPass));
  return code;
}

// In all, since the socket exists. Linux 4.12.
std::uint32_t DroppedBy(int listener) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> figures{};
  socklen_t bytes = sizeof(figures);
  return getsockopt(listener, SOL_SOCKET, SO_MEMINFO, figures.data(), &bytes) == 0 ? figures[SK_MEMINFO_DROPS]
                                                                                   : 0;
}

bool Attach(int listener, std::vector<sock_filter>& code) {
  const sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace

std::vector<sock_filter> FilterAgainst(std::span<const std::string> addresses) {
  const std::vector<sock_filter> v4 = AgainstV4(addresses), v6 = AgainstV6(addresses);
  std::vector<sock_filter> code = {
      {kLoadHalf, 0, 0, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PROTOCOL)},
      Skip(ETH_P_IPV6, 1, 0),
      {kSkipAlways, 0, 0, static_cast<std::uint32_t>(v6.size())}};
  code.insert(code.end(), v6.begin(), v6.end());
  code.insert(code.end(), v4.begin(), v4.end());
  return code;
}

void DropFilter(int connection) {
  const int unused = 0;
  setsockopt(connection, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}

AddressFilter::AddressFilter(std::span<const runtime::Descriptor> listeners) {
  for (const runtime::Descriptor& each : listeners) listeners_.push_back({each.get(), DroppedBy(each.get())});
}

void AddressFilter::Set(std::vector<std::string> addresses) {
  if (addresses.size() > kMostAddresses) addresses.resize(kMostAddresses);
  if (addresses == addresses_) return;
  addresses_ = std::move(addresses);
  std::vector<sock_filter> code = FilterAgainst(addresses_);
  for (Listener& each : listeners_) {
    if (addresses_.empty() || !Attach(each.fd, code)) DropFilter(each.fd);
  }
}

std::uint64_t AddressFilter::TakeDropped() {
  std::uint64_t dropped = 0;
  for (Listener& each : listeners_) {
    const std::uint32_t before = std::exchange(each.dropped, DroppedBy(each.fd));
    dropped += each.dropped - before;  // the kernel's figure begins anew after 2^32
  }
  return dropped;
}

}  // namespace tributary::server
