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
  runtime::LogLimit log_limit{8, 30'000'000'000};

  bool connected() const { return connected_stream.load(std::memory_order_relaxed) != 0; }
};

// Thread-safe. Never forgets a node; refuses new ones beyond kMaxNodes.
class Fleet {
 public:
  static constexpr std::size_t kMaxNodes = 1024;

  struct Membership {
    std::shared_ptr<NodeRecord> record;
    std::uint64_t stream = 0;
    bool superseded_another = false;  // another live stream of the same node was superseded
  };

  // Registers the node's stream. A new boot id restarts its acknowledged sequence at 0; an earlier stream of
  // the node is superseded. ResourceExhausted: too many nodes.
  absl::StatusOr<Membership> Join(const v1::Hello& hello);

  // FailedPrecondition if another connected node reports one of these sources. A source has one reporter at a
  // time; otherwise a stranger's tuples could pass for a panel's.
  absl::Status CheckSourcesFree(const v1::Hello& hello) const;

  // The nodes of one site.
  struct Presence {
    std::size_t known = 0;
    std::size_t connected = 0;
    std::set<std::string> leaves;  // that the connected ones report
  };
  Presence PresenceIn(const std::string& site) const;

  // Ascending by site and name; an empty site: all. Without what they learn.
  std::vector<v1::Node> List(const std::string& site) const;

 private:
  struct Entry {
    v1::Hello hello;
    std::shared_ptr<NodeRecord> record = std::make_shared<NodeRecord>();
  };

  mutable runtime::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Entry> nodes_ GUARDED_BY(mutex_);
};

}  // namespace tributary::publish
