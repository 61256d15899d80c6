// Where the aggregator signs certificates: for boards that join by a token, and for names that renew theirs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/join/authority.h"
#include "aggregator/join/board_names.h"
#include "core/config/access_tokens.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::join {

// Any thread asks; a thread of its own checks, signs and writes the record. Requests that came meanwhile
// share one sync of the disk. Beyond kMostWaiting a request is refused. Every answer comes before the
// destructor returns. A certificate leaves only after the record has it, so each can be revoked by its name.
class CertificateDesk {
 public:
  static constexpr std::size_t kMostWaiting = 64;
  // For one name in a day (UTC): a board whose answer was lost asks again, a thief cannot fill the record.
  static constexpr int kMostOfNameADay = 5;

  struct Order {
    std::string certificate_request;  // PKCS#10 of the peer
    std::string name;                 // of a renewal; of a board that joins: wanted, empty for any
    std::optional<config::AccessToken> token = {};  // by which a board joins
  };
  struct Issued {
    std::string name;
    std::string certificate_pem;
  };
  using Done = std::function<void(absl::StatusOr<Issued>)>;

  // The clock outlives it.
  CertificateDesk(Authority authority, std::int64_t lifetime_s, const runtime::Clock& clock);
  ~CertificateDesk();

  // `done` is called once, on the desk's thread or on this one. Errors: InvalidArgument for the request;
  // those of BoardNames; ResourceExhausted; those of IssueRecord::Write.
  void Ask(Order order, Done done);

  // From now on the desk signs in the name of this authority. Any thread.
  void Replace(Authority authority);
  // The authority's certificate, PEM. Any thread.
  std::string ca_pem() const {
    const runtime::MutexLock lock(mutex_);
    return ca_pem_;
  }

  void Collect(runtime::Reading& reading) const;

 private:
  struct Waiting {
    Order order;
    Done done;
  };
  void Run(const std::stop_token& stop);
  void Serve(std::deque<Waiting> batch);
  absl::StatusOr<Issued> Sign(const Order& order);
  absl::Status CountToday(const std::string& name);

  const std::int64_t lifetime_s_;
  const runtime::Clock& clock_;
  // The thread that signs.
  Authority authority_;
  std::string ca_sha256_;  // of authority_
  BoardNames names_;
  std::int64_t day_ = 0;
  std::unordered_map<std::string, int> issued_today_;  // by name

  std::atomic<std::uint64_t> joined_ = 0, renewed_ = 0, joins_refused_ = 0, renewals_refused_ = 0;
  mutable runtime::Mutex mutex_;
  std::string ca_pem_ GUARDED_BY(mutex_);
  std::optional<Authority> next_authority_ GUARDED_BY(mutex_);  // since the last batch
  std::deque<Waiting> waiting_ GUARDED_BY(mutex_);
  std::condition_variable_any news_;
  std::jthread thread_;
};

}  // namespace tributary::join
