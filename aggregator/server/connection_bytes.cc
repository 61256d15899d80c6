// What a connection table does about bytes of which nothing comes, and those that take the memory.
#include <algorithm>
#include <utility>

#include "aggregator/server/connection_table.h"
#include "core/wire/peer_address.h"

namespace tributary::server {

using wire::AddressOf;

std::vector<Socket> ConnectionTable::TakeTalkers(const std::function<bool(Socket)>& talks,
                                                 std::chrono::nanoseconds spent) {
  const Numbers talking = Which(true, talks);
  if (talking.empty()) return {};
  // It may have begun just before this look.
  const std::chrono::nanoseconds most = std::min<std::chrono::nanoseconds>(spent, kPatience / 2);
  std::vector<Socket> talkers;
  const runtime::MutexLock lock(mutex_);
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto next = std::next(each);
    const bool talks_now = each->second.silent && talking.contains(each->second.number);
    if (talks_now && (each->second.talked += most) >= kPatience) {
      ++refused_[static_cast<std::size_t>(ConnectionFault::kNoCall)];
      talkers.push_back(each->second.socket);
      Forget(each);
    }
    each = next;
  }
  return talkers;
}

std::chrono::nanoseconds ConnectionTable::Charge(Connection& own, const ReadCost& cost,
                                                 std::chrono::nanoseconds past) const {
  const ReadCost before = std::exchange(own.cost, cost);
  const std::uint64_t calls = own.pulse->calls.load(std::memory_order_relaxed);
  const std::uint64_t messages = own.pulse->heard.load(std::memory_order_relaxed) - calls;
  const std::uint64_t sent = own.pulse->sent.load(std::memory_order_relaxed);
  const auto times = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  const bool first = own.paid_calls == 0;  // then there was a handshake, too
  const std::chrono::nanoseconds of_calls =
      times(calls - std::exchange(own.paid_calls, calls)) * limits_.paid_by_call +
      times(messages - std::exchange(own.paid_messages, messages)) * limits_.paid_by_message;
  const std::chrono::nanoseconds of_others =
      times(sent - std::exchange(own.paid_sent, sent)) * limits_.paid_by_sent +
      times(cost.bytes - before.bytes) * limits_.paid_by_byte + past / limits_.paid_by_time;
  const std::chrono::nanoseconds spent = cost.processor - before.processor;
  constexpr std::chrono::nanoseconds kNothing{0};
  own.unpaid = std::max(own.unpaid + spent - of_calls - of_others, kNothing);
  if (!first && own.reports == 0) own.other_work += std::max(spent - of_others, kNothing);
  return spent;
}

std::uint64_t ConnectionTable::FruitlessHeaders(Connection& own, std::int64_t second) const {
  const std::uint64_t calls = own.pulse->calls.load(std::memory_order_relaxed);
  const std::uint64_t fruitless = own.cost.headers - std::min(calls, own.cost.headers);
  const std::uint64_t last = std::exchange(own.fruitless_headers, fruitless);
  if (std::exchange(own.fruitless_second, second) != second) own.fruitless_before = last;
  // Calls that were on their way have begun since then.
  own.fruitless_before = std::min(own.fruitless_before, fruitless);
  return fruitless - own.fruitless_before;
}

OtherWork ConnectionTable::TakeOtherWork() {
  constexpr std::chrono::microseconds kNotable{100};
  OtherWork work;
  const runtime::MutexLock lock(mutex_);
  for (auto& [peer, each] : connections_) {
    const std::chrono::nanoseconds own = std::exchange(each.other_work, std::chrono::nanoseconds(0));
    if (each.silent || each.cut || AddressOf(peer) == wire::kUnixAddress) continue;
    work.time += own;
    if (own >= kNotable) work.of.push_back(each.socket);
  }
  return work;
}

void ConnectionTable::ForgiveHandshake(Connection& own, const std::string& address) {
  constexpr std::chrono::nanoseconds kNothing{0};
  SilentCost& cost = silent_costs_[address];
  const std::chrono::nanoseconds forgiven =
      std::min({own.silent_cost, limits_.handshake(), limits_.handshakes() - cost.forgiven});
  cost.forgiven += forgiven;
  if (own.silent_second == silent_costs_second_) cost.spent = std::max(cost.spent - forgiven, kNothing);
  // The rest is its address's.
  own.unpaid = std::max(own.unpaid - own.silent_cost, kNothing);
}

std::unordered_set<std::string> ConnectionTable::CostlyAddresses(std::int64_t second) const {
  std::unordered_set<std::string> costly;
  for (const auto& [address, cost] : silent_costs_) {
    const int share = quarantine_.Suspects(address, second) ? limits_.suspect_share : 1;
    if (cost.spent > limits_.silent_cost / share) costly.insert(address);
  }
  return costly;
}

std::vector<ConnectionTable::Costly> ConnectionTable::TakeCostly(
    const std::function<std::optional<ReadCost>(Socket)>& cost, std::chrono::nanoseconds past,
    std::int64_t second) {
  std::vector<Costly> costly;
  const auto take = [&costly](const std::string& peer, const std::optional<Socket>& socket) {
    if (socket) costly.push_back({*socket, peer});
  };
  const runtime::MutexLock lock(mutex_);
  std::unordered_set<std::string> addresses;  // that have cost too much
  if (std::exchange(silent_costs_second_, second) != second) {
    addresses = CostlyAddresses(second);
    silent_costs_.clear();
  }
  std::unordered_map<const Peers::value_type*, std::chrono::nanoseconds> unpaid;
  std::unordered_map<const Peers::value_type*, std::uint64_t> fruitless;
  for (auto& [peer, each] : connections_) {
    const std::optional<ReadCost> now = each.cut ? std::nullopt : cost(each.socket);
    if (!now) continue;
    const std::chrono::nanoseconds spent = Charge(each, *now, past);
    if (now->long_header) take(peer, Cut(&each, ConnectionFault::kLongHeader));
    if (each.unpaid > limits_.unpaid) take(peer, Cut(&each, ConnectionFault::kStall));
    if (each.whose != nullptr && each.unpaid >= limits_.notable()) unpaid[each.whose] += each.unpaid;
    if (const std::uint64_t headers = FruitlessHeaders(each, second); headers > 0 && each.whose != nullptr)
      fruitless[each.whose] += headers;
    if (!each.silent || spent.count() == 0) continue;
    if (std::exchange(each.silent_second, second) != second) each.silent_cost = std::chrono::nanoseconds(0);
    each.silent_cost += spent;
    silent_costs_[AddressOf(peer)].spent += spent;
  }
  addresses.merge(CostlyAddresses(second));
  std::erase_if(unpaid, [this](const auto& each) { return each.second <= limits_.unpaid; });
  if (!unpaid.empty()) {
    for (auto& [peer, each] : connections_) {
      if (each.reports == 0 && each.unpaid >= limits_.notable() && unpaid.contains(each.whose))
        take(peer, Cut(&each, ConnectionFault::kStall));
    }
  }
  std::erase_if(fruitless, [this](const auto& each) { return each.second <= limits_.fruitless_headers; });
  if (!fruitless.empty()) {
    for (auto& [peer, each] : connections_) {
      if (each.reports == 0 && fruitless.contains(each.whose) && FruitlessHeaders(each, second) > 0)
        take(peer, Cut(&each, ConnectionFault::kNoCall));
    }
  }
  if (addresses.empty()) return costly;
  for (const std::string& address : addresses) {
    silent_costs_.erase(address);
    quarantine_.KeepOut(address, second);
  }
  for (auto& [peer, each] : connections_) {
    if (each.silent && addresses.contains(AddressOf(peer))) take(peer, Cut(&each, ConnectionFault::kStall));
  }
  return costly;
}

void ConnectionTable::NoteHeard(Connection& own, std::uint64_t received) const {
  const std::uint64_t heard = own.pulse->heard.load(std::memory_order_relaxed);
  const std::uint64_t sent = own.pulse->sent.load(std::memory_order_relaxed);
  const std::uint64_t more = (sent - std::exchange(own.seen_sent, sent)) * limits_.unheard_bytes_per_sent;
  const std::uint64_t came = received - std::min(std::exchange(own.seen_received, received), received);
  const std::uint64_t due = own.answers_due + limits_.unheard_bytes_per_look + more;
  const std::uint64_t answers = std::min(came, due);
  own.answers_due = std::min(due - answers, limits_.late_answers);
  own.heard_received =
      std::exchange(own.seen_heard, heard) != heard ? received : own.heard_received + answers;
}

std::vector<Socket> ConnectionTable::TakeUnheard(const std::function<std::uint64_t(Socket)>& received) {
  std::unordered_map<std::uint64_t, std::uint64_t> now;  // by number
  for (const auto& [number, socket] : Sockets(false)) now[number] = received(socket);
  std::vector<Socket> cut;
  const runtime::MutexLock lock(mutex_);
  for (auto& [peer, each] : connections_) {
    const auto found = now.find(each.number);
    if (found == now.end()) continue;
    NoteHeard(each, found->second);
    if (found->second <= each.heard_received + limits_.unheard_bytes) continue;
    if (const std::optional<Socket> socket = Cut(&each, ConnectionFault::kNoCall)) cut.push_back(*socket);
  }
  return cut;
}

void ConnectionTable::NoteSent(const std::function<std::uint64_t(Socket)>& received, bool first) {
  constexpr std::uint64_t kForgottenInALook = 512;       // a part: half of it in seven seconds
  std::unordered_map<std::uint64_t, std::uint64_t> now;  // by number
  for (const auto& [number, socket] : Sockets(false)) now[number] = received(socket);
  const runtime::MutexLock lock(mutex_);
  for (auto& [peer, each] : connections_) {
    const auto found = now.find(each.number);
    const std::uint64_t in_all = std::max(found == now.end() ? 0 : found->second, each.received);
    each.sent = first ? 0 : in_all - each.received;
    each.received = in_all;
    each.lately = first ? 0 : each.lately - each.lately / kForgottenInALook + each.sent;
  }
}

ConnectionTable::Greediest ConnectionTable::TakeGreediest() {
  const runtime::MutexLock lock(mutex_);
  const auto reports = [](const auto& each) { return each.second.reports > 0; };
  const auto takes = [&](const auto& each) {
    if (each.second.cut) return std::uint64_t{0};
    if (reports(each)) return each.second.sent;
    return each.second.lately < kLittle ? 0 : each.second.lately;
  };
  Greediest greediest;
  greediest.report = std::ranges::all_of(connections_, [&](const auto& each) {
    return !each.second.cut && (reports(each) || takes(each) == 0);
  });
  const auto chosen = [&](const auto& each) { return takes(each) > 0 && reports(each) == greediest.report; };
  std::unordered_map<std::string, std::uint64_t> taken;  // by address
  for (const auto& each : connections_) {
    if (chosen(each)) taken[AddressOf(each.first)] += takes(each);
  }
  if (taken.empty()) return greediest;
  const auto most = std::ranges::max_element(taken, {}, [](const auto& each) { return each.second; });
  if (greediest.report && most->second <= kGreedy) return greediest;
  // A flood from many addresses grows faster than one of them is cut in each look.
  const std::uint64_t least = greediest.report ? most->second : most->second / 2;
  for (auto& each : connections_) {
    if (chosen(each) && taken[AddressOf(each.first)] >= least)
      greediest.sockets.push_back(*Cut(&each.second, ConnectionFault::kMemory));
  }
  return greediest;
}

}  // namespace tributary::server
