// What a connection table does about connections that cost more than comes of them.
#include <algorithm>
#include <utility>

#include "aggregator/server/connection_table.h"
#include "core/wire/peer_address.h"

namespace tributary::server {

using wire::AddressOf;

std::chrono::nanoseconds ConnectionTable::Charge(Connection& own, const ReadCost& cost,
                                                 std::chrono::nanoseconds past) const {
  const ReadCost before = std::exchange(own.cost, cost);
  const std::uint64_t calls = own.pulse->calls.load(std::memory_order_relaxed);
  const std::uint64_t messages = own.pulse->heard.load(std::memory_order_relaxed) - calls -
                                 own.pulse->empty.load(std::memory_order_relaxed);
  const std::uint64_t sent = own.pulse->sent.load(std::memory_order_relaxed);
  constexpr int kLooksOfAWatcher = 400;  // 2 to 8 s
  own.watches = sent > own.paid_sent ? kLooksOfAWatcher : std::max(own.watches - 1, 0);
  const auto times = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  const bool first = own.paid_calls == 0;  // then there was a handshake, too
  const std::chrono::nanoseconds of_calls =
      times(calls - std::exchange(own.paid_calls, calls)) * limits_.paid_by_call +
      times(messages - std::exchange(own.paid_messages, messages)) * limits_.paid_by_message;
  const std::chrono::nanoseconds of_others =
      times(sent - std::exchange(own.paid_sent, sent)) * limits_.paid_by_sent +
      times(cost.bytes - before.bytes) * limits_.paid_by_byte +
      past / (own.reports > 0 ? limits_.paid_by_time : 4 * limits_.paid_by_time);
  const std::int64_t work_ns = own.pulse->work_ns.load(std::memory_order_relaxed);
  const std::chrono::nanoseconds spent =
      cost.processor - before.processor +
      std::chrono::nanoseconds(work_ns - std::exchange(own.charged_work_ns, work_ns));
  const std::chrono::nanoseconds ended = cost.ends - before.ends;
  constexpr std::chrono::nanoseconds kNothing{0};
  own.unpaid = std::max(own.unpaid + spent + ended - of_calls - of_others, kNothing);
  own.excused = std::min(first && own.reports == 0 ? limits_.notable() : own.excused, own.unpaid);
  // Ends are none: calls that are slowed down by what their ends cost are never too many in a second.
  if (!first && own.reports == 0) own.other_work += std::max(spent - of_others, kNothing);
  if (!first && own.reports > 0 && Owes(own))
    own.other_work += std::max(spent - of_calls - of_others, kNothing);
  return spent + ended;
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

bool ConnectionTable::TellRanks(const std::function<void(Socket, ReadRank)>& tell) const {
  bool reports = false;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [peer, each] : connections_) {
    reports = reports || each.reports > 0;
    const bool panel = each.reports > 0, panel_or_watcher = panel || each.watches > 0;
    tell(each.socket, !panel_or_watcher ? ReadRank::kOther
                      : Owes(each)      ? ReadRank::kOwing
                      : panel           ? ReadRank::kPanel
                                        : ReadRank::kWatcher);
  }
  return reports;
}

OtherWork ConnectionTable::TakeOtherWork() {
  constexpr std::chrono::microseconds kNotable{100};
  OtherWork work;
  const runtime::MutexLock lock(mutex_);
  for (auto& [peer, each] : connections_) {
    const std::chrono::nanoseconds own = std::exchange(each.other_work, std::chrono::nanoseconds(0));
    if (each.silent || each.cut) continue;
    work.time += own;
    if (own >= kNotable) work.of.push_back(each.socket);
  }
  return work;
}

void ConnectionTable::ForgiveHandshake(Connection& own, const std::string& address, std::int64_t second) {
  constexpr std::int64_t kSecondsOfAHandshake = 10;
  constexpr std::chrono::nanoseconds kNothing{0};
  // The rest is its address's.
  own.unpaid = std::max(own.unpaid - own.silent_cost, kNothing);
  // Time has paid for an old one: it must not excuse what others cost now.
  if (second > own.since + kSecondsOfAHandshake) return;
  SilentCost& cost = silent_costs_[address];
  const std::chrono::nanoseconds forgiven =
      std::min({own.silent_cost, limits_.handshake(), limits_.handshakes() - cost.forgiven});
  cost.forgiven += forgiven;
  cost.spent = std::max(cost.spent - forgiven, kNothing);
}

void ConnectionTable::PayForSilence(std::chrono::nanoseconds past, std::int64_t second) {
  constexpr std::chrono::nanoseconds kNothing{0};
  const bool anew = std::exchange(forgiven_second_, second) != second;
  for (auto& [address, cost] : silent_costs_) {
    cost.spent = std::max(cost.spent - past / limits_.silent_paid_by_time, kNothing);
    if (anew) cost.forgiven = kNothing;
  }
  std::erase_if(silent_costs_, [](const auto& each) {
    return each.second.spent.count() == 0 && each.second.forgiven.count() == 0;
  });
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
  PayForSilence(past, second);
  std::unordered_map<const Peers::value_type*, std::chrono::nanoseconds> unpaid;
  std::unordered_map<const Peers::value_type*, std::uint64_t> fruitless;
  for (auto& [peer, each] : connections_) {
    const std::optional<ReadCost> now = each.cut ? std::nullopt : cost(each.socket);
    if (!now) continue;
    if (now->long_header) take(peer, Cut(&each, ConnectionFault::kLongHeader));
    if (now->crowd) take(peer, Cut(&each, ConnectionFault::kNoCall));
    if (AddressOf(peer) == wire::kUnixAddress) continue;  // its calls cannot be told, so nothing would pay
    const std::chrono::nanoseconds spent = Charge(each, *now, past);
    if (each.unpaid > limits_.unpaid) take(peer, Cut(&each, ConnectionFault::kStall));
    if (each.whose != nullptr && AddsUp(each)) unpaid[each.whose] += each.unpaid - each.excused;
    if (const std::uint64_t headers = FruitlessHeaders(each, second); headers > 0 && each.whose != nullptr)
      fruitless[each.whose] += headers;
    if (!each.silent || spent.count() == 0) continue;
    each.silent_cost += spent;
    silent_costs_[AddressOf(peer)].spent += spent;
  }
  std::erase_if(unpaid, [this](const auto& each) { return each.second <= limits_.unpaid; });
  if (!unpaid.empty()) {
    for (auto& [peer, each] : connections_) {
      if (AddsUp(each) && unpaid.contains(each.whose)) take(peer, Cut(&each, ConnectionFault::kStall));
    }
  }
  std::erase_if(fruitless, [this](const auto& each) { return each.second <= limits_.fruitless_headers; });
  if (!fruitless.empty()) {
    for (auto& [peer, each] : connections_) {
      const std::uint64_t excused = each.reports == 0 ? 0 : limits_.fruitless_of_report();
      if (fruitless.contains(each.whose) && FruitlessHeaders(each, second) > excused)
        take(peer, Cut(&each, ConnectionFault::kNoCall));
    }
  }
  const std::unordered_set<std::string> addresses = CostlyAddresses(second);
  if (addresses.empty()) return costly;
  std::unordered_set<std::string> gone = addresses;
  for (const std::string& address : addresses) {
    silent_costs_.erase(address);
    quarantine_.KeepOut(address, ConnectionFault::kStall, second);
  }
  for (auto& [peer, each] : connections_) {
    if (!each.silent || !addresses.contains(AddressOf(peer))) continue;
    take(peer, Cut(&each, ConnectionFault::kStall));
    gone.erase(AddressOf(peer));
  }
  // Their connections have gone by themselves, or gRPC has ended them.
  refused_[static_cast<std::size_t>(ConnectionFault::kStall)] += gone.size();
  return costly;
}

}  // namespace tributary::server
