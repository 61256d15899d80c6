#include "aggregator/publish/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/wire/node_status.h"

namespace tributary::publish {

namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

}  // namespace

bool Fleet::MakeRoom(const std::string& peer) {
  std::map<std::string_view, std::size_t> places;
  for (const auto& [key, entry] : nodes_) ++places[entry.peer];
  const bool greedy = places[peer] >= kMaxNodesOfPeer;
  if (nodes_.size() < kMaxNodes && !greedy) return true;
  auto given_up = nodes_.end();
  for (auto each = nodes_.begin(); each != nodes_.end(); ++each) {
    const Entry& entry = each->second;
    if (entry.record->connected() || (greedy && entry.peer != peer)) continue;
    const auto rank = [&places](const Entry& of) {
      return std::pair(-std::int64_t(places[of.peer]), of.number);
    };
    if (given_up == nodes_.end() || rank(entry) < rank(given_up->second)) given_up = each;
  }
  if (given_up == nodes_.end()) return false;
  nodes_.erase(given_up);
  return true;
}

absl::StatusOr<Fleet::Membership> Fleet::Join(const v1::Hello& hello, const std::string& peer) {
  // Nobody has checked fields that this program does not know, and a node is kept for long. They are not
  // removed from the entry itself: it would keep their memory.
  v1::Hello known = hello;
  known.DiscardUnknownFields();
  // The site has the classes, and fusion the prior.
  for (v1::Source& source : *known.mutable_sources()) {
    source.clear_classes();
    source.clear_prior();
  }
  const runtime::MutexLock lock(mutex_);
  const std::pair key(hello.site(), hello.node());
  auto found = nodes_.find(key);
  if (found == nodes_.end()) {
    if (!MakeRoom(peer)) {
      return absl::ResourceExhaustedError(fmt::format(
          "node \"{}\" would be one more than the {} nodes that may be connected, or the {} from one "
          "peer",
          hello.node(), kMaxNodes, kMaxNodesOfPeer));
    }
    found = nodes_.try_emplace(key).first;
  }
  Entry& entry = found->second;
  NodeRecord& record = *entry.record;
  if (entry.hello.boot_id() != hello.boot_id()) record.acknowledged_sequence = 0;
  entry.hello = known;
  entry.left_sources = std::string();
  entry.peer = peer;
  entry.number = ++last_number_;
  const bool superseded_another = record.connected();
  const std::uint64_t stream = ++record.latest_stream;
  record.connected_stream = stream;
  return Membership{entry.record, stream, superseded_another};
}

void Fleet::Leave(const std::string& site, const std::string& node, const Membership& membership) {
  const runtime::MutexLock lock(mutex_);
  std::uint64_t mine = membership.stream;
  if (!membership.record->connected_stream.compare_exchange_strong(mine, 0)) return;
  Entry& entry = nodes_.at({site, node});
  entry.left_sources = absl::StrJoin(entry.hello.sources(), "\n",
                                     [](std::string* to, const v1::Source& from) { *to += from.name(); });
  v1::Hello rest;  // a field that is cleared keeps its memory
  rest.set_boot_id(entry.hello.boot_id());
  *rest.mutable_model() = entry.hello.model();
  entry.hello = std::move(rest);
}

absl::Status Fleet::CheckSourcesFree(const v1::Hello& hello, const std::string& peer,
                                     const std::vector<std::string>& leaves) const {
  const std::unordered_set<std::string_view> own(leaves.begin(), leaves.end());
  const auto others = [&own](const v1::Hello& of) {
    return std::ranges::count_if(of.sources(),
                                 [&own](const v1::Source& source) { return !own.contains(source.name()); });
  };
  std::int64_t of_peer = others(hello);
  std::unordered_set<std::string_view> ours;
  for (const v1::Source& source : hello.sources()) ours.insert(source.name());
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    const auto& [site, node] = key;
    if (site != hello.site() || node == hello.node() || !entry.record->connected()) continue;
    for (const v1::Source& theirs : entry.hello.sources()) {
      if (!ours.contains(theirs.name())) continue;
      return absl::FailedPreconditionError(fmt::format(
          "hello.sources: \"{}\" is reported by node \"{}\" already; give each panel a name of its own",
          theirs.name(), node));
    }
    if (entry.peer == peer) of_peer += others(entry.hello);
  }
  if (others(hello) > 0 && of_peer > std::int64_t{kMaxSourcesOfPeer}) {
    return absl::ResourceExhaustedError(
        fmt::format("hello.sources: {} of this peer that are none of the site's own, at most {} are allowed",
                    of_peer, kMaxSourcesOfPeer));
  }
  return absl::OkStatus();
}

Fleet::Presence Fleet::PresenceIn(const std::string& site) const {
  Presence presence;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    if (key.first != site) continue;
    ++presence.known;
    if (!entry.record->connected()) continue;
    ++presence.connected;
    for (const v1::Source& source : entry.hello.sources()) {
      presence.leaves.insert(source.leaves().begin(), source.leaves().end());
    }
  }
  return presence;
}

void NodeRecord::TakeStatus(const v1::NodeStatus& said, std::int64_t now_unix_ns) {
  constexpr std::int64_t kLeastIntervalNs = 500'000'000;
  {
    const runtime::MutexLock lock(mutex);
    // The distance, so that a clock that was set back does not silence the node.
    if (account_of.status != nullptr &&
        std::abs(now_unix_ns - account_of.status_unix_ns) < kLeastIntervalNs) {
      return;
    }
  }
  auto status = std::make_shared<const v1::NodeStatus>(wire::BoundedStatus(said));
  const runtime::MutexLock lock(mutex);
  account_of.status.swap(status);
  account_of.status_unix_ns = now_unix_ns;
}

Fleet::Sent Fleet::SentTo(const std::string& site) const {
  Sent sent;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    if (key.first != site) continue;
    sent.dropped_frames += entry.record->dropped_frames;
    const NodeAccount account = entry.record->account();
    if (entry.record->connected() && account.status != nullptr) {
      sent.held_frames += account.status->held_frames();
    }
  }
  return sent;
}

std::vector<v1::Node> Fleet::List(const std::string& site) const {
  std::vector<v1::Node> nodes;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    if (!site.empty() && key.first != site) continue;
    const NodeRecord& record = *entry.record;
    v1::Node& node = nodes.emplace_back();
    node.set_site(key.first);
    node.set_name(key.second);
    node.set_connected(record.connected());
    node.set_last_frame_unix_ns(record.last_frame_unix_ns);
    node.set_accepted_frames(record.accepted_frames);
    node.set_refused_frames(record.refused_frames);
    node.set_dropped_frames(record.dropped_frames);
    for (const v1::Source& source : entry.hello.sources()) node.add_sources(source.name());
    for (std::string& name : LinesOf(entry.left_sources)) node.add_sources(std::move(name));
    node.set_model_name(entry.hello.model().name());
    node.set_model_version(entry.hello.model().version());
    node.set_model_sha256(entry.hello.model().sha256());
    const NodeAccount account = record.account();
    node.set_identity(account.identity);
    node.set_certificate_expires_unix_ns(account.certificate_expires_unix_ns);
    if (account.status != nullptr) *node.mutable_status() = *account.status;
    node.set_status_unix_ns(account.status_unix_ns);
  }
  return nodes;
}

}  // namespace tributary::publish
