// The client of FederationService: receives tasks of a federated run, fetches models, submits updates.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/live_tls.h"
#include "core/link/channel.h"
#include "core/link/masking_steps.h"
#include "core/link/outage_log.h"
#include "core/link/spool/reconnect.h"
#include "core/link/wanted_task.h"
#include "core/parameters/update_encoding.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "core/runtime/mutex.h"
#include "core/wire/federation_task.h"
#include "core/wire/hello.h"
#include "tributary/v1/federation.grpc.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::link {

// What an aggregator says when a run is over.
struct RunEnd {
  std::string run;
  std::string reason;
  bool finished = false;  // all rounds were committed
};

struct FederationClientOptions {
  std::string aggregator;  // "host:port" or "unix:path"
  config::TlsSource tls;   // null: no TLS
  std::string node;        // equals the certificate's name where TLS is on
  std::string run;         // empty: the run that is active, or the next to start
  std::string boot_id = wire::NewBootId();
  std::vector<std::string> workloads = {};  // what it can train; empty: whatever a run asks for
  std::uint64_t sample_count = 0;   // what this node trains on: the weight of its updates; see SetSampleCount
  bool awaits_samples = false;      // takes no part while the sample count is 0
  bool secure_aggregation = false;  // can mask its updates
  bool partial_sums = false;        // an aggregator: its updates are sums and name their contributors
  // This run is over for this node. Called on the client's thread; returns at once.
  std::function<void(const RunEnd& end)> on_ended = nullptr;
};

// With `try_again` the client itself sends the update again.
using SubmitAnswer = v1::SubmitUpdateResponse;

// Gives the elements from `first` on, as they travel.
using EncodeElements =
    std::function<absl::Status(std::size_t first, std::size_t count, std::string& payload)>;

// Owns the channel and one thread that reads tasks. One other thread calls Next, FetchModel and Submit…; any
// thread may call the rest. The client keeps only the newest task: a newer one replaces a task that Next has
// not returned. It retries a lost connection within about a second, and a refusal within 30 s or with the
// next certificate.
//
// The client does secure aggregation itself: its thread answers the steps before and after the training as
// they come, and the words of a masked task never leave without their mask. A restart loses the keys of a
// round. The node then skips that round and takes part in the next.
class FederationClient {
 public:
  using Assignment = TrainAssignment;

  struct Counters {
    std::uint64_t streams = 0;          // that the aggregator answered
    std::uint64_t malformed_tasks = 0;  // that this node cannot read, and declined
    std::uint64_t received_bytes = 0;   // of models
    std::uint64_t sent_bytes = 0;       // of updates, repetitions included
    std::uint64_t repeated_submissions = 0;
    std::uint64_t lost_keys = 0;        // rounds of secure aggregation for which this node had no keys
    std::uint64_t refused_steps = 0;    // steps of secure aggregation: not done, or refused by the aggregator
    std::uint64_t unusable_shares = 0;  // of other nodes' secrets
  };

  // Starts to connect.
  FederationClient(FederationClientOptions options, const runtime::Clock& clock);
  ~FederationClient();  // Stop()

  // Waits for the next training. Returns an answered task again only if the aggregator asks again. Returns
  // nothing after Stop.
  std::optional<Assignment> Next() { return wanted_.Next(); }

  // Fetches the file of the task's model. An interrupted fetch resumes where it was while the task stands.
  // Errors: Cancelled if the task was withdrawn; DataLoss for chunks that do not fit together; those of the
  // aggregator.
  absl::StatusOr<std::string> FetchModel(const Assignment& assignment);

  // Sends the update, of the task's element_count; `remainder`, as long, gets what the encoding loses. Sends
  // it again from its start after each lost connection while the task stands. The aggregator takes it once.
  // If the task is withdrawn after the whole update was sent, waits one more second for the answer: the next
  // task may overtake it. Errors: Cancelled if the task was withdrawn; InvalidArgument for values that the
  // encoding cannot hold; those of the aggregator. A refusal is an answer, not an error.
  absl::StatusOr<SubmitAnswer> Submit(const Assignment& assignment, std::span<const float> update,
                                      std::span<float> remainder, const v1::UpdateMetrics& metrics);

  // Masks a weighted update in place and sends it. `said` has its sample count and metrics. Errors: those
  // above, and those of MaskingNode::Mask.
  absl::StatusOr<SubmitAnswer> SubmitMasked(const Assignment& assignment, std::span<std::int32_t> words,
                                            v1::UpdateHeader said);
  // Sends a partial sum in the task's fixed point. `said` has the sample count of all contributors, metrics
  // and contributors. Errors: those above.
  absl::StatusOr<SubmitAnswer> SubmitSum(const Assignment& assignment, std::span<const std::int64_t> words,
                                         v1::UpdateHeader said);

  // Declines the task, with the reason, scope and message of `decline`: the aggregator continues without this
  // node. An aggregator that does not know this call waits until the deadline. Errors: Cancelled if the task
  // was withdrawn; those of the aggregator.
  absl::Status Decline(const Assignment& assignment, const v1::DeclineTaskRequest& decline);

  // Changes the declared sample count. A new count restarts the stream of tasks; the present task continues.
  void SetSampleCount(std::uint64_t sample_count);

  // Ends the present task, whatever its result. Next then waits for another one, or for the aggregator to ask
  // again.
  void Finish(const Assignment& assignment) { wanted_.Finish(assignment.task); }

  // Cancels the calls under way and ends the thread.
  void Stop();

  // Connecting also means waiting to try again. Participating: the aggregator has said what to do. Refused:
  // see last_error(); tried again slowly.
  v1::ParentState state() const;
  absl::Status last_error() const;  // of the stream of tasks; OK while it is well
  // What the aggregator said last instead of a task; may be empty.
  std::string waiting_for() const { return wanted_.waiting_for(); }
  Counters counters() const;

 private:
  // Retries until the call succeeds, cannot succeed or is no longer wanted.
  absl::Status Insist(const Assignment& assignment, const std::function<absl::Status()>& attempt);
  absl::StatusOr<SubmitAnswer> Send(const Assignment& assignment, const v1::UpdateHeader& header,
                                    const EncodeElements& encode);
  // The aggregator is connected but takes no update: only this line tells the operator.
  void SayLater(const Assignment& assignment, const SubmitAnswer& answer);
  void Rest(std::int64_t delay_ns, const std::stop_token& stop);

  // --- Own thread ---

  struct Declaration {
    std::uint64_t sample_count;
    std::stop_token replaced;
  };
  Declaration Declared() const;
  void Participate(std::stop_token stop);
  // Runs one stream to its end.
  absl::Status ReadTasks(const std::stop_token& stop, const Declaration& declaration, bool& answered);
  // Returns the error of an answer that failed: to a step of secure aggregation, or a decline. The next
  // stream asks again.
  absl::Status Take(const v1::ParticipateResponse& response, const std::stop_token& stop);
  absl::Status DeclineUnread(const v1::ParticipateResponse& response, const absl::Status& why,
                             const std::stop_token& stop);
  absl::Status Do(wire::TrainTask task, const std::stop_token& stop);
  template <class Step>
  absl::Status Do(const Step& step, const std::stop_token& stop);
  void SetState(v1::ParentState state, absl::Status error);

  const FederationClientOptions options_;
  const runtime::Clock& clock_;
  LiveChannel channel_;
  LiveStub<v1::FederationService> stub_;
  MaskingSteps masking_;
  Reconnect calls_;                     // the caller's thread only
  std::int64_t next_later_log_ns_ = 0;  // the caller's thread only
  std::stop_source stopping_;

  std::atomic<std::uint64_t> streams_ = 0;
  std::atomic<std::uint64_t> malformed_tasks_ = 0;
  std::atomic<std::uint64_t> received_bytes_ = 0;
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> repeated_submissions_ = 0;

  WantedTask wanted_;
  OutageLog outages_;                                // the own thread only
  runtime::LogLimit task_lines_{20, 1'000'000'000};  // an aggregator sends as many tasks as it likes

  mutable runtime::Mutex mutex_;
  v1::ParentState state_ GUARDED_BY(mutex_) = v1::PARENT_STATE_CONNECTING;
  absl::Status last_error_ GUARDED_BY(mutex_);
  std::uint64_t sample_count_ GUARDED_BY(mutex_);
  std::stop_source redeclared_ GUARDED_BY(mutex_);  // since the present stream began

  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary::link
