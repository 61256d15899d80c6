#include "aggregator/server/connection_table.h"

#include <algorithm>
#include <utility>

#include "core/wire/peer_address.h"

namespace tributary::server {

using wire::AddressOf;
using wire::kUnixAddress;

std::optional<ConnectionFault> ConnectionTable::Refuses(const std::string& peer) const {
  const runtime::MutexLock lock(mutex_);
  const auto found = addresses_.find(AddressOf(peer));
  const Address address = found == addresses_.end() ? Address() : found->second;
  if (address.connections - address.closed >= limits_.of_address && address.silent == 0) {
    return ConnectionFault::kTooManyOfAddress;
  }
  if (connections_.size() - closed_ >= limits_.connections && silent_ == 0) return ConnectionFault::kTooMany;
  return std::nullopt;
}

std::optional<Socket> ConnectionTable::Add(const std::string& peer, Socket socket, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  // The kernel gave the address out again: the earlier connection is closed. What it has cost since the last
  // look is its address's all the same, and its calls are over later.
  if (const auto earlier = connections_.find(peer); earlier != connections_.end()) {
    auto entry = connections_.extract(earlier);
    entry.key() = EarlierKey(peer, entry.mapped().number);
    connections_.insert(std::move(entry));
  }
  const std::string from = AddressOf(peer);
  // gRPC does not say which unix socket a call came by.
  const bool silent = from != kUnixAddress;
  Connection& added = connections_[peer] = {.socket = socket, .number = ++last_number_, .silent = silent};
  added.pulse->number = added.number;
  added.since = second;
  Address& address = addresses_[from];
  ++address.connections;
  address.silent += silent;
  silent_ += silent;
  ConnectionFault fault = ConnectionFault::kTooManySilentOfAddress;
  Connections::iterator oldest = connections_.end();
  if (address.silent > limits_.silent_of_address ||
      address.connections - address.closed > limits_.of_address) {
    oldest = OldestSilent(from);
  } else if (silent_ > limits_.silent || connections_.size() - closed_ > limits_.connections) {
    fault = ConnectionFault::kTooManySilent;
    oldest = OldestSilent(AddressWithMostSilent());
  }
  if (oldest == connections_.end()) return std::nullopt;
  ++refused_[static_cast<std::size_t>(fault)];
  const std::string whose = AddressOf(oldest->first);
  const std::size_t most = quarantine_.Suspects(whose, second) ? limits_.suspect_cuts() : limits_.silent_cuts;
  if (addresses_.find(whose)->second.silent_cuts.Exceeds(most, second))
    quarantine_.KeepOut(whose, fault, second);
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
  if (!found->second.silent && !found->second.cut) LeaveDebt(found->second, address->first);
  --address->second.connections;
  address->second.closed -= found->second.closed;
  closed_ -= found->second.closed;
  if (found->second.silent) {
    --address->second.silent;
    --silent_;
  }
  if (address->second.connections == 0) addresses_.erase(address);
  calls_ -= found->second.calls;
  if (!found->second.cut) lasting_calls_ -= found->second.calls;
  if (Peers::value_type* const whose = found->second.whose) {
    whose->second.calls -= found->second.calls;
    if (--whose->second.connections == 0) peers_.erase(peers_.find(whose->first));
  }
  connections_.erase(found);
}

std::vector<std::pair<std::uint64_t, Socket>> ConnectionTable::Sockets(bool silent_only) const {
  const runtime::MutexLock lock(mutex_);
  std::vector<std::pair<std::uint64_t, Socket>> sockets;
  sockets.reserve(silent_only ? silent_ : connections_.size());
  for (const auto& [peer, each] : connections_) {
    if (each.silent || !silent_only) sockets.emplace_back(each.number, each.socket);
  }
  return sockets;
}

ConnectionTable::Numbers ConnectionTable::Which(bool silent_only,
                                                const std::function<bool(Socket)>& condition) const {
  Numbers numbers;
  for (const auto& [number, socket] : Sockets(silent_only)) {
    if (condition(socket)) numbers.insert(number);
  }
  return numbers;
}

void ConnectionTable::Sweep(const std::function<bool(Socket)>& open) {
  const Numbers closed = Which(false, [&](Socket socket) { return !open(socket); });
  if (closed.empty()) return;
  const runtime::MutexLock lock(mutex_);
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto next = std::next(each);
    Connection& own = each->second;
    if (!own.closed && closed.contains(own.number)) {
      own.closed = true;
      ++closed_;
      ++addresses_.find(AddressOf(each->first))->second.closed;
    }
    // Calls outlive their connection: as long as there are any, they are its own.
    if (own.calls == 0 && own.closed) {
      // gRPC has ended it by itself, after many pings for one, or it has given up.
      if (own.silent && !own.cut && own.cost.bytes >= kMuchOfASilentOne)
        ++refused_[static_cast<std::size_t>(ConnectionFault::kNoCall)];
      Forget(each);
    }
    each = next;
  }
}

ConnectionTable::Connection* ConnectionTable::MostCalls() {
  const auto calls = [](const Connections::value_type& each) {
    return each.second.cut ? 0 : each.second.calls - each.second.reports;
  };
  const auto most = std::ranges::max_element(connections_, {}, calls);
  return most == connections_.end() || calls(*most) == 0 ? nullptr : &most->second;
}

std::optional<Socket> ConnectionTable::Cut(Connection* connection, ConnectionFault fault) {
  if (connection == nullptr || connection->cut) return std::nullopt;
  connection->cut = fault;
  lasting_calls_ -= connection->calls;
  ++refused_[static_cast<std::size_t>(fault)];
  return connection->socket;
}

std::optional<Socket> ConnectionTable::BeginCall(const std::string& peer, std::string_view name,
                                                 std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return std::nullopt;  // a unix socket, or closed already
  Connection& own = found->second;
  if (own.silent) {
    own.silent = false;
    ForgiveHandshake(own, AddressOf(peer), second);
    --addresses_.find(AddressOf(peer))->second.silent;
    --silent_;
  }
  if (own.whose == nullptr) {
    own.whose = &*peers_.try_emplace(name.empty() ? AddressOf(peer) : std::string(name)).first;
    ++own.whose->second.connections;
  }
  Peer& whose = own.whose->second;
  ++own.calls;
  ++whose.calls;
  ++calls_;
  if (!own.cut) ++lasting_calls_;
  own.pulse->heard.fetch_add(1, std::memory_order_relaxed);
  own.pulse->calls.fetch_add(1, std::memory_order_relaxed);
  if (whose.rate.Exceeds(name.empty() ? limits_.call_rate_of_address : limits_.call_rate, second)) {
    return Cut(&own, ConnectionFault::kCallRate);
  }
  if (own.calls > limits_.calls_of_connection) return Cut(&own, ConnectionFault::kTooManyCalls);
  if (whose.calls > limits_.calls_of_peer()) return Cut(&own, ConnectionFault::kTooManyCallsOfPeer);
  // Those of a connection that was cut end soon, and must not cost others theirs.
  if (lasting_calls_ > limits_.calls) return Cut(MostCalls(), ConnectionFault::kTooManyCalls);
  return std::nullopt;
}

std::vector<Socket> ConnectionTable::TakeCrowd(const std::string& peer,
                                               const std::function<std::uint64_t(Socket)>& unread,
                                               ConnectionFault fault) {
  std::vector<std::pair<std::string, Socket>> suspects;
  {
    const runtime::MutexLock lock(mutex_);
    const auto found = connections_.find(peer);
    if (found == connections_.end() || found->second.whose == nullptr) return {};
    const Peers::value_type* const whose = found->second.whose;
    const bool flood = fault == ConnectionFault::kStall || whose->second.calls > limits_.calls_of_peer();
    if (!flood) return {};
    for (const auto& [other, each] : connections_) {
      if (each.whose == whose && !each.cut && each.reports == 0) suspects.emplace_back(other, each.socket);
    }
  }
  const std::uint64_t least = fault == ConnectionFault::kStall ? kCrowdOfCostly : kCrowd;
  std::erase_if(suspects, [&](const auto& each) { return unread(each.second) < least; });
  std::vector<Socket> cut;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [other, socket] : suspects) {
    const auto found = connections_.find(other);
    if (found == connections_.end() || found->second.socket.inode != socket.inode) continue;
    if (Cut(&found->second, fault)) cut.push_back(socket);
  }
  return cut;
}

std::shared_ptr<ConnectionPulse> ConnectionTable::PulseOf(const std::string& peer) const {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  return found == connections_.end() ? nullptr : found->second.pulse;
}

ConnectionTable::Connections::iterator ConnectionTable::WithPulse(const std::string& peer,
                                                                  const ConnectionPulse* pulse) {
  const auto found = connections_.find(peer);
  if (pulse == nullptr || found == connections_.end() || found->second.pulse.get() == pulse) return found;
  return connections_.find(EarlierKey(peer, pulse->number));
}

void ConnectionTable::NoteReport(const std::string& peer) {
  const runtime::MutexLock lock(mutex_);
  if (const auto found = connections_.find(peer); found != connections_.end()) ++found->second.reports;
}

void ConnectionTable::EndCall(const std::string& peer, bool reported, const ConnectionPulse* pulse) {
  const runtime::MutexLock lock(mutex_);
  const auto found = WithPulse(peer, pulse);
  if (found == connections_.end() || found->second.calls == 0) return;
  Connection& own = found->second;
  --own.calls;
  --own.whose->second.calls;
  --calls_;
  if (!own.cut) --lasting_calls_;
  if (reported && own.reports > 0) --own.reports;
}

std::optional<Socket> ConnectionTable::NoteRareCall(const std::string& peer, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return std::nullopt;
  if (!found->second.rare_calls.Exceeds(limits_.rare_calls, second)) return std::nullopt;
  return Cut(&found->second, ConnectionFault::kCallRate);
}

std::optional<Socket> ConnectionTable::NoteEmptyMessage(const std::string& peer, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return std::nullopt;
  found->second.pulse->empty.fetch_add(1, std::memory_order_relaxed);
  if (!found->second.empty_messages.Exceeds(limits_.empty_messages, second)) return std::nullopt;
  return Cut(&found->second, ConnectionFault::kMalformed);
}

std::vector<Socket> ConnectionTable::NoteFruitlessReport(const std::string& peer, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end() || found->second.whose == nullptr) return {};
  Peers::value_type& whose = *found->second.whose;
  RateLimit& rate = whose.second.fruitless_reports;
  if (!rate.Exceeds(limits_.fruitless_reports, second)) return {};
  if (rate.IsTurn(limits_.fruitless_reports)) {
    return CutAll(ConnectionFault::kCallRate,
                  [&](const Connection& each) { return each.whose == &whose && each.reports == 0; });
  }
  if (found->second.reports > 0) return {};
  const std::optional<Socket> cut = Cut(&found->second, ConnectionFault::kCallRate);
  return cut ? std::vector<Socket>{*cut} : std::vector<Socket>();
}

std::optional<Socket> ConnectionTable::CountOfPeer(const std::string& peer, RateLimit Peer::*rate,
                                                   std::size_t limit, ConnectionFault fault,
                                                   std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end() || found->second.whose == nullptr) return std::nullopt;
  if (!(found->second.whose->second.*rate).Exceeds(limit, second)) return std::nullopt;
  return Cut(&found->second, fault);
}

std::vector<Socket> ConnectionTable::CutOfName(const std::string& name, RateLimit Peer::*rate,
                                               std::size_t limit, std::int64_t second, bool working) {
  const runtime::MutexLock lock(mutex_);
  const auto found = peers_.find(name);
  if (found == peers_.end() || !(found->second.*rate).Exceeds(limit, second)) return {};
  if (!(found->second.*rate).IsTurn(limit)) return {};
  return CutAll(ConnectionFault::kCallRate, [&](const Connection& each) {
    return each.whose == &*found && (working || each.reports == 0);
  });
}

std::vector<Socket> ConnectionTable::CutAll(ConnectionFault fault, const Chosen& chosen) {
  std::vector<Socket> cut;
  for (auto& [peer, each] : connections_) {
    if (!chosen(each)) continue;
    if (const std::optional<Socket> socket = Cut(&each, fault)) cut.push_back(*socket);
  }
  return cut;
}

std::optional<Socket> ConnectionTable::NoteReset(const std::string& peer, bool report, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return std::nullopt;
  Connection& own = found->second;
  bool flood = own.resets.Exceeds(limits_.resets, second);
  if (report) flood |= own.report_resets.Exceeds(limits_.report_resets, second);
  return flood ? Cut(&own, ConnectionFault::kResets) : std::nullopt;
}

void ConnectionTable::KeepOut(const std::string& peer, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  const bool known = found != connections_.end() && found->second.cut.has_value();
  // TakeTalkers has forgotten those whom it cut.
  quarantine_.KeepOut(AddressOf(peer), known ? *found->second.cut : ConnectionFault::kNoCall, second);
}

bool ConnectionTable::IsQuarantined(const std::string& peer, std::int64_t second) const {
  const runtime::MutexLock lock(mutex_);
  return quarantine_.Holds(AddressOf(peer), second);
}

bool ConnectionTable::IsSuspect(const std::string& peer, std::int64_t second) const {
  const runtime::MutexLock lock(mutex_);
  return Suspects(AddressOf(peer), second);
}

void ConnectionTable::NoteBegun(const std::string& peer, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end() || !found->second.silent) return;
  found->second.begun = true;
  found->second.since = second;
  silent_costs_[AddressOf(peer)].begun += limits_.begun;
}

void ConnectionTable::NoteGaveUp(const std::string& address, std::size_t connections, std::int64_t second) {
  const runtime::MutexLock lock(mutex_);
  refused_[static_cast<std::size_t>(ConnectionFault::kGaveUp)] += connections;
  const auto found = addresses_.find(address);
  if (found != addresses_.end() && found->second.gave_up.Exceeds(limits_.gave_up, second, connections))
    quarantine_.KeepOut(address, ConnectionFault::kGaveUp, second);
}

bool ConnectionTable::MayBegin(const std::string& address, std::int64_t second) const {
  const runtime::MutexLock lock(mutex_);
  const auto cost = silent_costs_.find(address);
  return cost == silent_costs_.end() ||
         cost->second.spent + cost->second.begun <=
             limits_.waiting_cost() / (quarantine_.Suspects(address, second) ? limits_.suspect_share : 1);
}

bool ConnectionTable::IsCrowded(const std::string& peer) const {
  const runtime::MutexLock lock(mutex_);
  if (silent_ >= limits_.silent || connections_.size() - closed_ >= limits_.connections) return true;
  const auto found = addresses_.find(AddressOf(peer));
  if (found == addresses_.end()) return false;
  const Address& address = found->second;
  return address.silent >= limits_.silent_of_address ||
         address.connections - address.closed >= limits_.of_address;
}

bool ConnectionTable::Suspects(const std::string& address, std::int64_t second) const {
  if (quarantine_.Suspects(address, second)) return true;
  const auto cost = silent_costs_.find(address);
  return cost != silent_costs_.end() && cost->second.spent + cost->second.begun > limits_.suspect_cost();
}

ConnectionTable::Figures ConnectionTable::figures() const {
  const runtime::MutexLock lock(mutex_);
  return {connections_.size() - closed_, silent_, calls_, refused_};
}

}  // namespace tributary::server
