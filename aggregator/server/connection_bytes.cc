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
