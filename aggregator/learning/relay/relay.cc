#include "aggregator/learning/relay/relay.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <optional>
#include <utility>

#include "core/runtime/mutex.h"

namespace tributary::learning {
namespace {

// Kept of the parent's deadline for sending the sum: a tenth of what is left, at most this. A gigabyte takes
// as long at 1 Gbit/s.
constexpr std::int64_t kMaxMarginNs = 10'000'000'000;

ParentRound RoundOf(const wire::TrainTask& task, const runtime::Clock& clock) {
  ParentRound round;
  round.round = task.round;
  std::memcpy(round.model.data(), task.model_sha256.data(),
              std::min(round.model.size(), task.model_sha256.size()));
  round.fixed_point = task.fixed_point;
  round.sample_count = task.max_sample_count;
  const std::int64_t left_ns = std::max<std::int64_t>(0, task.deadline_ns - clock.SteadyNs());
  round.deadline_ns = task.deadline_ns - std::min(kMaxMarginNs, left_ns / 10);
  return round;
}

// Why there is no sum.
parameters::TaskDecline DeclineOf(const absl::Status& why) {
  const auto message = std::string(why.message());
  switch (why.code()) {
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kAlreadyExists:
      return {parameters::DeclineReason::kTask, true, message};
    case absl::StatusCode::kInvalidArgument:
      return {parameters::DeclineReason::kModel, false, message};
    case absl::StatusCode::kDataLoss:
      return {parameters::DeclineReason::kFetch, false, message};
    default:
      return {parameters::DeclineReason::kNodes, false, message};
  }
}

}  // namespace

// For the coordinator's answer.
struct Relay::Waiting {
  runtime::Mutex mutex;
  std::condition_variable_any changed;
  std::optional<absl::StatusOr<PartialSum>> sum GUARDED_BY(mutex);
};

Relay::Relay(RelayOptions options, Coordinator& coordinator, const runtime::Clock& clock)
    : options_([&] {
        options.parent.sample_count = 0;  // until nodes are here
        options.parent.partial_sums = true;
        options.parent.on_ended = [&coordinator](const wire::EndedTask& ended) {
          coordinator.OnRelayed(ended.run, [](RelayedRun&, learning::Run& run) { run.EndRelayed(); });
        };
        return std::move(options);
      }()),
      coordinator_(coordinator),
      clock_(clock),
      client_(std::make_shared<link::FederationClient>(options_.parent, clock)) {
  coordinator_.AwaitParent([client = client_, min_nodes = options_.min_nodes](const RosterSize& roster) {
    client->SetSampleCount(roster.nodes < min_nodes ? 0 : roster.sample_count);
  });
  thread_ = std::jthread([this] {
    prctl(PR_SET_NAME, "relay");
    Run();
  });
}

Relay::~Relay() { Stop(); }

void Relay::Stop() {
  stopping_ = true;
  client_->Stop();
  if (thread_.joinable()) thread_.join();
}

void Relay::Run() {
  while (const auto assignment = client_->Next()) {
    Do(*assignment);
    client_->Finish(*assignment);
  }
}

void Relay::Do(const link::FederationClient::Assignment& assignment) {
  const wire::TrainTask& task = assignment.task;
  absl::StatusOr<PartialSum> sum = Gather(assignment);
  const bool sent = sum.ok();
  const absl::StatusOr<std::size_t> contributors =
      sent ? Deliver(assignment, *std::move(sum)) : absl::StatusOr<std::size_t>(sum.status());
  if (stopping_) return;
  coordinator_.OnRelayed(
      task.run, [round = task.round, outcome = contributors.status()](RelayedRun& relayed, learning::Run&) {
        relayed.EndRound(round, outcome);
      });
  if (contributors.ok()) {
    ++accepted_;
    contributors_ += *contributors;
    return;
  }
  ++(sent && absl::IsFailedPrecondition(contributors.status()) ? refused_ : abandoned_);
  spdlog::warn("round {} of {}: no sum for {}: {}", task.round, task.run, options_.parent.aggregator,
               std::string(contributors.status().message()));
  // What the parent has refused, it knows.
  if (!sent) client_->Decline(assignment, DeclineOf(sum.status())).IgnoreError();
}

absl::StatusOr<std::size_t> Relay::Deliver(const link::FederationClient::Assignment& assignment,
                                           PartialSum sum) {
  const wire::TrainTask& task = assignment.task;
  for (;;) {
    const std::size_t contributors = sum.contributors.size();
    const absl::StatusOr<link::SubmitAnswer> answer = Send(assignment, std::move(sum));
    if (!answer.ok()) return answer.status();
    if (answer->accepted) return contributors;
    if (answer->counted_elsewhere.empty()) {
      return absl::FailedPreconditionError(
          fmt::format("the parent refuses the sum: {}: {}", answer->reason, answer->message));
    }
    // Each time at least one update less, or an error.
    absl::StatusOr<PartialSum> less = Await(assignment, [&](RelayedRun::SumDone done) {
      coordinator_.OnRelayed(
          task.run,
          [round = task.round, nodes = answer->counted_elsewhere, done](RelayedRun& relayed, learning::Run&) {
            done(relayed.LeaveOut(round, nodes));
          },
          [run = task.run, done] { done(NoSuchRun(run)); });
    });
    if (!less.ok()) {
      client_->Decline(assignment, DeclineOf(less.status())).IgnoreError();
      return less.status();
    }
    left_out_ += contributors - less->contributors.size();
    sum = *std::move(less);
  }
}

absl::StatusOr<PartialSum> Relay::Gather(const link::FederationClient::Assignment& assignment) {
  const wire::TrainTask& task = assignment.task;
  absl::StatusOr<RunConfig> config = RelayedConfig(task);
  if (!config.ok()) return absl::UnimplementedError(config.status().message());
  const auto known = coordinator_.board().Find(task.run);
  std::string model;
  if (known == nullptr || known->run.model_sha256() != task.model_sha256) {
    absl::StatusOr<std::string> fetched = client_->FetchModel(assignment);
    if (!fetched.ok()) return fetched.status();
    model = *std::move(fetched);
  }
  ++rounds_;
  return Await(assignment, [&](RelayedRun::SumDone done) {
    coordinator_.BeginRelayed(*std::move(config), RoundOf(task, clock_), std::move(model), std::move(done));
  });
}

absl::StatusOr<PartialSum> Relay::Await(const link::FederationClient::Assignment& assignment,
                                        const std::function<void(RelayedRun::SumDone)>& ask) {
  const auto waiting = std::make_shared<Waiting>();
  ask([waiting](absl::StatusOr<PartialSum> sum) {
    const runtime::MutexLock lock(waiting->mutex);
    waiting->sum = std::move(sum);
    waiting->changed.notify_all();
  });
  runtime::MutexLock lock(waiting->mutex);
  waiting->changed.wait(lock, assignment.withdrawn,
                        [&]() REQUIRES(waiting->mutex) { return waiting->sum.has_value(); });
  if (!waiting->sum) return absl::CancelledError("the parent no longer asks for it");
  return *std::move(waiting->sum);
}

absl::StatusOr<link::SubmitAnswer> Relay::Send(const link::FederationClient::Assignment& assignment,
                                               PartialSum sum) {
  link::FinishedWords words;
  words.words = sum.words;
  words.sample_count = sum.sample_count;
  words.metrics = sum.metrics;
  for (Contribution& each : sum.contributors) {
    words.contributors.push_back({std::move(each.node), each.sample_count});
  }
  return client_->SubmitWords(assignment, words);
}

}  // namespace tributary::learning
