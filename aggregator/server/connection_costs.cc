// What a connection table does about connections that cost more than comes of them.
#include <algorithm>
#include <utility>

#include "aggregator/server/connection_table.h"
#include "core/wire/peer_address.h"

namespace tributary::server {

using wire::AddressOf;

namespace {

constexpr std::chrono::nanoseconds kNothing{0};

// So much, if that is left of `most`.
std::chrono::nanoseconds Forgive(std::chrono::nanoseconds what, std::chrono::nanoseconds most,
                                 std::chrono::nanoseconds& forgiven) {
  const std::chrono::nanoseconds now = std::min(what, most - forgiven);
  forgiven += now;
  return now;
}

}  // namespace

std::chrono::nanoseconds ConnectionTable::Charge(Connection& own, const ReadCost& cost,
                                                 std::chrono::nanoseconds past) const {
  const ReadCost before = std::exchange(own.cost, cost);
  const std::uint64_t calls = own.pulse->calls.load(std::memory_order_relaxed);
  const std::uint64_t messages = own.pulse->heard.load(std::memory_order_relaxed) - calls -
                                 own.pulse->empty.load(std::memory_order_relaxed);
  const std::uint64_t sent = own.pulse->sent.load(std::memory_order_relaxed);
  constexpr int kLooksOfAWatcher = 400;  // 2 to 8 s
  own.watches = sent > own.paid_sent ? kLooksOfAWatcher : std::max(own.watches - 1, 0);
  const std::uint64_t told = own.pulse->told.load(std::memory_order_relaxed);
  const bool first = own.paid_calls == 0;  // then there was a handshake, too
  const auto since = [](std::uint64_t& paid, std::uint64_t now) {
    return static_cast<std::int64_t>(now - std::exchange(paid, now));
  };
  const std::int64_t new_calls = since(own.paid_calls, calls);
  const std::int64_t new_messages = since(own.paid_messages, messages);
  const std::int64_t new_sent = since(own.paid_sent, sent);
  const std::int64_t new_told = since(own.paid_told, told);
  const std::chrono::nanoseconds of_calls =
      new_calls * limits_.paid_by_call + new_messages * limits_.paid_by_message;
  const std::chrono::nanoseconds of_others =
      (new_sent + new_told) * limits_.paid_by_sent +
      static_cast<std::int64_t>(cost.bytes - before.bytes) * limits_.paid_by_byte +
      past / (own.reports > 0 ? limits_.paid_by_time : 4 * limits_.paid_by_time);
  const std::int64_t work_ns = own.pulse->work_ns.load(std::memory_order_relaxed);
  const std::chrono::nanoseconds spent =
      cost.processor - before.processor +
      std::chrono::nanoseconds(work_ns - std::exchange(own.charged_work_ns, work_ns));
  const std::chrono::nanoseconds ended = cost.ends - before.ends;
  own.unpaid = std::max(own.unpaid + spent + ended - of_calls - of_others, kNothing);
  // A message may be counted as heard before it is as empty.
  const std::int64_t lone = std::max<std::int64_t>(new_calls + new_messages + new_sent + new_told, 0);
  own.unpaid -= PaidByLone(own, lone, past);
  own.excused = std::min(first ? limits_.beginning() : own.excused, own.unpaid);
  // Ends are none: calls that are slowed down by what their ends cost are never too many in a second.
  if (!first && own.reports == 0) own.other_work += std::max(spent - of_others, kNothing);
  if (!first && own.reports > 0 && Owes(own))
    own.other_work += std::max(spent - of_calls - of_others, kNothing);
  return spent + ended;
}

std::chrono::nanoseconds ConnectionTable::PaidByLone(Connection& own, std::int64_t messages,
                                                     std::chrono::nanoseconds past) const {
  const bool works = own.reports > 0 || own.watches > 0;
  const std::chrono::nanoseconds part = past / (works ? limits_.lone_part : 4 * limits_.lone_part);
  own.lone_left = std::min(own.lone_left + part, std::max(limits_.most_paid_by_lone(), part));
  if (own.whose == nullptr) return kNothing;
  std::chrono::nanoseconds& of_peer = own.whose->second.lone_left;
  const std::chrono::nanoseconds paid =
      std::min({own.unpaid, messages * limits_.paid_by_lone, own.lone_left, of_peer});
  own.lone_left -= paid;
  of_peer -= paid;
  return paid;
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
  // The rest is its address's.
  own.unpaid = std::max(own.unpaid - own.silent_cost, kNothing);
  // Time has paid for an old one: it must not excuse what others cost now.
  if (second > own.since + ConnectionLimits::kSecondsOfABeginning) return;
  SilentCost& cost = silent_costs_[address];
  const std::chrono::nanoseconds forgiven =
      Forgive(std::min(own.silent_cost, limits_.handshake()), limits_.handshakes(), cost.forgiven);
  cost.spent = std::max(cost.spent - forgiven, kNothing);
  cost.flood = std::max(cost.flood - std::min(forgiven, own.silent_flood), kNothing);
}

void ConnectionTable::ChargeSilence(Connection& own, const std::string& address,
                                    std::chrono::nanoseconds spent, std::int64_t second) {
  const bool begins = second <= own.since + ConnectionLimits::kSecondsOfABeginning;
  if (spent == kNothing && !(own.begun && begins)) return;
  const std::chrono::nanoseconds explained = begins ? limits_.beginning() : kNothing;
  const std::chrono::nanoseconds flood = std::clamp(own.silent_cost + spent - explained, kNothing, spent);
  own.silent_cost += spent;
  own.silent_flood += flood;
  SilentCost& cost = silent_costs_[address];
  cost.spent += spent;
  cost.flood += flood;
  if (own.begun && begins) cost.begun += std::max(limits_.begun - own.silent_cost, kNothing);
}

void ConnectionTable::LeaveDebt(const Connection& own, const std::string& address) {
  if (own.unpaid == kNothing) return;
  SilentCost& cost = silent_costs_[address];
  const std::chrono::nanoseconds life = std::chrono::seconds(std::max<std::int64_t>(second_ - own.since, 0));
  const std::chrono::nanoseconds earned =
      std::min({own.unpaid - own.excused, life / limits_.end_by_life, limits_.begun});
  const std::chrono::nanoseconds end = std::min(own.unpaid - own.excused - earned, limits_.end());
  cost.spent += own.unpaid - earned - Forgive(own.excused, limits_.handshakes(), cost.forgiven) -
                Forgive(end, limits_.ends(), cost.ended);
  cost.flood += own.unpaid - own.excused - earned - end;
}

void ConnectionTable::PayByTime(std::chrono::nanoseconds past) {
  const std::chrono::nanoseconds part = past / limits_.lone_part_of_peer;
  for (auto& [name, peer] : peers_) {
    peer.lone_left = std::min(peer.lone_left + part, std::max(limits_.most_paid_by_lone(), part));
  }
  const std::chrono::nanoseconds paid = past / limits_.silent_paid_by_time;
  for (auto& [address, cost] : silent_costs_) {
    cost.spent = std::max(std::min(cost.spent, limits_.most_spent()) - paid, kNothing);
    cost.flood = std::max(cost.flood - paid, kNothing);
    cost.begun = kNothing;  // ChargeSilence says it anew
    cost.forgiven = std::max(cost.forgiven - past / limits_.forgiven_by_time, kNothing);
    cost.ended = std::max(cost.ended - past / limits_.ends_by_time, kNothing);
  }
  std::erase_if(silent_costs_, [](const auto& each) {
    return each.second.spent + each.second.forgiven + each.second.ended == kNothing;
  });
}

std::unordered_set<std::string> ConnectionTable::CostlyAddresses(std::int64_t second) const {
  std::unordered_set<std::string> costly;
  for (const auto& [address, cost] : silent_costs_) {
    const int share = quarantine_.Suspects(address, second) ? limits_.suspect_share : 1;
    if (cost.flood > limits_.silent_cost / share) costly.insert(address);
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
  second_ = second;
  PayByTime(past);
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
    if (each.silent) ChargeSilence(each, AddressOf(peer), spent, second);
    if (now->long_handshake) Cut(&each, ConnectionFault::kLongHandshake);  // it has ended by itself
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
    SilentCost& silent = silent_costs_[address];
    silent.spent = silent.flood = kNothing;
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
