// The nodes that an aggregator knows: those that report and those that learn.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::publish {

// NotFound; names the known sites.
absl::Status UnknownSite(std::string_view name, const std::vector<std::string>& known);

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

  struct Count {
    std::size_t known = 0;
    std::size_t connected = 0;
  };
  Count CountNodes(const std::string& site) const;
  // The leaves that connected nodes of the site report.
  std::set<std::string> ConnectedLeaves(const std::string& site) const;

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

// A node in one run of federated learning.
struct Learner {
  std::string node;
  v1::Learning learning;
};

// From any thread; returns at once.
using ListLearners = std::function<std::vector<Learner>()>;

// Thread-safe. Fleet and clock outlive it.
class KnownNodes {
 public:
  // `learners` may be empty: no federated learning. `sites`: the names of all sites.
  KnownNodes(const Fleet& fleet, ListLearners learners, std::vector<std::string> sites,
             const runtime::Clock& clock);

  // By site and name. With a site: the nodes that report to it. Without: those of every site, then those that
  // only learn. A node is known by its name: what learns under the name of a node that reports is that node.
  // NotFound: no such site.
  absl::StatusOr<v1::ListNodesResponse> List(const std::string& site) const;

 private:
  const Fleet* fleet_;
  ListLearners learners_;
  std::vector<std::string> sites_;
  const runtime::Clock* clock_;
};

}  // namespace tributary::publish
