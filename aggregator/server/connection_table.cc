#include "aggregator/server/connection_table.h"

#include <algorithm>

#include "core/wire/peer_address.h"

namespace tributary::server {

using wire::AddressOf;
using wire::kUnixAddress;

std::optional<ConnectionFault> ConnectionTable::Refuses(const std::string& peer) const {
  const runtime::MutexLock lock(mutex_);
  const auto found = addresses_.find(AddressOf(peer));
  const Address address = found == addresses_.end() ? Address() : found->second;
  if (address.connections >= limits_.of_address && address.silent == 0) {
    return ConnectionFault::kTooManyOfAddress;
  }
  if (connections_.size() >= limits_.connections && silent_ == 0) return ConnectionFault::kTooMany;
  return std::nullopt;
}

void ConnectionTable::Count(ConnectionFault fault) {
  const runtime::MutexLock lock(mutex_);
  ++refused_[static_cast<std::size_t>(fault)];
}

std::optional<Socket> ConnectionTable::Add(const std::string& peer, Socket socket) {
  const runtime::MutexLock lock(mutex_);
  // The kernel gave the address out again: the earlier connection is closed.
  if (const auto earlier = connections_.find(peer); earlier != connections_.end()) Forget(earlier);
  const std::string from = AddressOf(peer);
  // gRPC does not say which unix socket a call came by.
  const bool silent = from != kUnixAddress;
  connections_[peer] = {.socket = socket, .number = ++last_number_, .silent = silent};
  Address& address = addresses_[from];
  ++address.connections;
  address.silent += silent;
  silent_ += silent;
  ConnectionFault fault = ConnectionFault::kTooManySilentOfAddress;
  Connections::iterator oldest = connections_.end();
  if (address.silent > limits_.silent_of_address || address.connections > limits_.of_address) {
    oldest = OldestSilent(from);
  } else if (silent_ > limits_.silent || connections_.size() > limits_.connections) {
    fault = ConnectionFault::kTooManySilent;
    oldest = OldestSilent(AddressWithMostSilent());
  }
  if (oldest == connections_.end()) return std::nullopt;
  ++refused_[static_cast<std::size_t>(fault)];
  const Socket cut = oldest->second.socket;
  Forget(oldest);
  return cut;
}

ConnectionTable::Connections::iterator ConnectionTable::OldestSilent(const std::string& address) {
  auto oldest = connections_.end();
  for (auto each = connections_.begin(); each != connections_.end(); ++each) {
    if (!each->second.silent || AddressOf(each->first) != address) continue;
    if (oldest == connections_.end() || each->second.number < oldest->second.number) oldest = each;
  }
  return oldest;
}

std::string ConnectionTable::AddressWithMostSilent() const {
  return std::ranges::max_element(addresses_, {}, [](const auto& each) { return each.second.silent; })->first;
}

void ConnectionTable::Forget(Connections::iterator found) {
  const auto address = addresses_.find(AddressOf(found->first));
  --address->second.connections;
  if (found->second.silent) {
    --address->second.silent;
    --silent_;
  }
  if (address->second.connections == 0) addresses_.erase(address);
  calls_ -= found->second.calls;
  connections_.erase(found);
}

void ConnectionTable::Sweep(const std::function<bool(Socket)>& open) {
  const runtime::MutexLock lock(mutex_);
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto next = std::next(each);
    // Calls outlive their connection: as long as there are any, they are its own.
    if (each->second.calls == 0 && !open(each->second.socket)) Forget(each);
    each = next;
  }
}

std::vector<Socket> ConnectionTable::TakeTalkers(const std::function<bool(Socket)>& talks) {
  std::vector<Socket> talkers;
  const runtime::MutexLock lock(mutex_);
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto next = std::next(each);
    if (each->second.silent && talks(each->second.socket) && ++each->second.talks >= kTalks) {
      ++refused_[static_cast<std::size_t>(ConnectionFault::kNoCall)];
      talkers.push_back(each->second.socket);
      Forget(each);
    }
    each = next;
  }
  return talkers;
}

ConnectionTable::Connection* ConnectionTable::MostCalls() {
  const auto most = std::ranges::max_element(
      connections_, {}, [](const auto& each) { return each.second.cut ? 0 : each.second.calls; });
  return most == connections_.end() || most->second.cut ? nullptr : &most->second;
}

std::optional<Socket> ConnectionTable::BeginCall(const std::string& peer) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return std::nullopt;  // a unix socket, or closed already
  Connection& own = found->second;
  if (own.silent) {
    own.silent = false;
    --addresses_.find(AddressOf(peer))->second.silent;
    --silent_;
  }
  ++own.calls;
  ++calls_;
  Connection* cut = nullptr;
  if (calls_ > limits_.calls) cut = MostCalls();
  if (own.calls > limits_.calls_of_connection) cut = &own;
  if (cut == nullptr || cut->cut) return std::nullopt;
  cut->cut = true;
  ++refused_[static_cast<std::size_t>(ConnectionFault::kTooManyCalls)];
  return cut->socket;
}

std::optional<Socket> ConnectionTable::NoteRareCall(const std::string& peer, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return std::nullopt;
  Connection& own = found->second;
  if (own.second != second) own.rare_calls = 0;
  own.second = second;
  if (++own.rare_calls <= limits_.rare_calls || own.cut) return std::nullopt;
  own.cut = true;
  ++refused_[static_cast<std::size_t>(ConnectionFault::kTooManyCalls)];
  return own.socket;
}

void ConnectionTable::EndCall(const std::string& peer) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end() || found->second.calls == 0) return;
  --found->second.calls;
  --calls_;
}

std::optional<Socket> ConnectionTable::NoteReset(const std::string& peer, bool report, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return std::nullopt;
  Connection& own = found->second;
  if (own.reset_second != second) own.resets = own.report_resets = 0;
  own.reset_second = second;
  ++own.resets;
  own.report_resets += report;
  if (own.cut || (own.resets <= limits_.resets && own.report_resets <= limits_.report_resets)) {
    return std::nullopt;
  }
  own.cut = true;
  ++refused_[static_cast<std::size_t>(ConnectionFault::kResets)];
  return own.socket;
}

void ConnectionTable::Quarantine(const std::string& peer, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  if (quarantined_.size() >= kMostQuarantined) {
    std::erase_if(quarantined_,
                  [&](const auto& each) { return each.second + limits_.quarantine_s <= second; });
  }
  if (quarantined_.size() < kMostQuarantined) quarantined_[AddressOf(peer)] = second;
}

bool ConnectionTable::IsQuarantined(const std::string& peer, std::int64_t second) const {
  const runtime::MutexLock lock(mutex_);
  if (quarantined_.empty()) return false;
  const auto found = quarantined_.find(AddressOf(peer));
  return found != quarantined_.end() && second < found->second + limits_.quarantine_s;
}

ConnectionTable::Figures ConnectionTable::figures() const {
  const runtime::MutexLock lock(mutex_);
  return {connections_.size(), silent_, calls_, refused_};
}

}  // namespace tributary::server
