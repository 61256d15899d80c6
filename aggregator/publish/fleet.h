// The nodes that report to an aggregator.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/log.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::publish {

// Who a node is and what it says of itself.
struct NodeAccount {
  std::string identity;  // on the certificate of its latest stream; empty: no TLS
  std::int64_t certificate_expires_unix_ns = 0;
  std::shared_ptr<const v1::NodeStatus> status;  // null: it has said nothing
  std::int64_t status_unix_ns = 0;
};

// One node in one site, over all its streams. The ingest thread of the node's stream writes the counts; any
// thread reads.
struct NodeRecord {
  std::atomic<std::uint64_t> accepted_frames = 0;
  std::atomic<std::uint64_t> refused_frames = 0;
  std::atomic<std::uint64_t> dropped_frames = 0;  // as the node declares
  std::atomic<std::int64_t> last_frame_unix_ns = 0;
  std::atomic<std::uint64_t> acknowledged_sequence = 0;  // with the present boot id
  // Grows with each stream that joins: a stream with an older number is superseded.
  std::atomic<std::uint64_t> latest_stream = 0;
  std::atomic<std::uint64_t> connected_stream = 0;  // 0: none

  // Log limit for a node that connects and leaves all the time: eight lines, then one per half minute.
  static constexpr std::int64_t kLogIntervalNs = 30'000'000'000;
  runtime::LogLimit log_limit{8, kLogIntervalNs};

  NodeAccount account() const {
    const runtime::MutexLock lock(mutex);
    return account_of;
  }
  void Identify(const std::string& name, std::int64_t certificate_expires_unix_ns) {
    const runtime::MutexLock lock(mutex);
    account_of.identity = name;
    account_of.certificate_expires_unix_ns = certificate_expires_unix_ns;
  }
  // Keeps what is said, within bounds, and at most twice a second: a copy costs some microseconds.
  void TakeStatus(const v1::NodeStatus& said, std::int64_t now_unix_ns);

  mutable runtime::Mutex mutex;
  NodeAccount account_of GUARDED_BY(mutex);

  bool connected() const { return connected_stream.load(std::memory_order_relaxed) != 0; }
};

// Thread-safe. A connected node has its place. A place of one that has left is given to a new node when there
// is no other: the peer with the most places gives up the node that left first.
//
// A peer is whoever a certificate names, or without TLS an address: it may choose any names for its nodes and
// sources.
class Fleet {
 public:
  static constexpr std::size_t kMaxNodes = 1024;
  // So that one peer does not shut out the others.
  static constexpr std::size_t kMaxNodesOfPeer = kMaxNodes / 2;
  // In one site, of connected nodes. Names of the site's own leaves do not count.
  static constexpr std::size_t kMaxSourcesOfPeer = 128;

  struct Membership {
    std::shared_ptr<NodeRecord> record;
    std::uint64_t stream = 0;
    bool superseded_another = false;  // another live stream of the same node was superseded
  };

  // Registers the node's stream. A new boot id restarts its acknowledged sequence at 0; an earlier stream of
  // the node is superseded. ResourceExhausted: too many nodes are connected.
  absl::StatusOr<Membership> Join(const v1::Hello& hello, const std::string& peer = "");

  // Ends the membership of a node of the site; nothing changes if a newer stream has superseded it.
  void Leave(const std::string& site, const std::string& node, const Membership& membership);

  // FailedPrecondition if another connected node reports one of these sources. A source has one reporter at a
  // time; otherwise a stranger's tuples could pass for a panel's. ResourceExhausted: with these the peer's
  // nodes would have too many sources that are none of `leaves`.
  absl::Status CheckSourcesFree(const v1::Hello& hello, const std::string& peer = "",
                                const std::vector<std::string>& leaves = {}) const;

  // The nodes of one site.
  struct Presence {
    std::size_t known = 0;
    std::size_t connected = 0;
    std::set<std::string> leaves;  // that the connected ones report
  };
  Presence PresenceIn(const std::string& site) const;

  // What the connected nodes of one site say that did not arrive.
  struct Sent {
    std::uint64_t dropped_frames = 0;  // of all nodes that are known
    std::uint64_t held_frames = 0;     // in the spools of the connected ones
  };
  Sent SentTo(const std::string& site) const;

  // Ascending by site and name; an empty site: all. Without what they learn.
  std::vector<v1::Node> List(const std::string& site) const;

 private:
  struct Entry {
    v1::Hello hello;           // without sources when the node has left
    std::string left_sources;  // their names then, one a line: a fraction of the hello's memory
    std::string peer;
    std::uint64_t number = 0;  // ascends with each stream that joins
    std::shared_ptr<NodeRecord> record = std::make_shared<NodeRecord>();
  };
  using Nodes = std::map<std::pair<std::string, std::string>, Entry>;

  // Makes room for a node of the peer, if that is necessary; false: it cannot be done.
  bool MakeRoom(const std::string& peer) REQUIRES(mutex_);

  mutable runtime::Mutex mutex_;
  Nodes nodes_ GUARDED_BY(mutex_);
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tributary::publish
