#include "aggregator/learning/relay/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "core/runtime/log.h"
#include "core/runtime/mutex.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::learning {
namespace {

// Kept of the parent's deadline for sending the sum: a tenth of what is left, at most this. A gigabyte takes
// as long at 1 Gbit/s.
constexpr std::int64_t kMaxMarginNs = 10'000'000'000;

ParentRound RoundOf(const wire::TrainTask& task, const runtime::Clock& clock) {
  ParentRound round;
  round.round = task.round;
  std::memcpy(round.model.data(), task.train.model_sha256().data(),
              std::min(round.model.size(), task.train.model_sha256().size()));
  round.fixed_point = task.fixed_point;
  round.sample_count = task.train.max_sample_count();
  round.failed_rounds = task.train.failed_rounds();
  const std::int64_t left_ns = std::max<std::int64_t>(0, task.deadline_ns - clock.SteadyNs());
  round.deadline_ns = task.deadline_ns - std::min(kMaxMarginNs, left_ns / 10);
  return round;
}

// Why there is no sum.
v1::DeclineTaskRequest DeclineOf(const absl::Status& why) {
  v1::DeclineTaskRequest decline;
  decline.set_message(std::string(why.message()));
  switch (why.code()) {
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kAlreadyExists:
      decline.set_reason(v1::DECLINE_REASON_TASK);
      decline.set_for_good(true);
      break;
    case absl::StatusCode::kInvalidArgument:
      decline.set_reason(v1::DECLINE_REASON_MODEL);
      break;
    case absl::StatusCode::kDataLoss:
      decline.set_reason(v1::DECLINE_REASON_FETCH);
      break;
    default:
      decline.set_reason(v1::DECLINE_REASON_NODES);
  }
  return decline;
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
        options.parent.on_ended = [&coordinator](const link::RunEnd& end) {
          OnRelayed(coordinator, end.run,
                    [said = ParentEnd{end.reason, end.finished}](RelayedRun& run) { run.End(said); });
        };
        return std::move(options);
      }()),
      coordinator_(coordinator),
      clock_(clock),
      client_(std::make_shared<link::FederationClient>(options_.parent, clock)) {
  const auto tell = [client = client_, min_nodes = options_.min_nodes](const RosterSize& roster) {
    client->SetSampleCount(roster.nodes < min_nodes ? 0 : roster.sample_count);
  };
  coordinator_.Post([tell](HostedRuns&, Attendance& nodes) { nodes.AwaitParent(tell); });
  thread_ = std::jthread([this] {
    // It waits on sockets of its own, and so reads the panels' frames in turn with the ingest threads.
    runtime::EnterThread("relay", runtime::ThreadRank::kFusion);
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

void Relay::Do(const Assignment& assignment) {
  const wire::TrainTask& task = assignment.task;
  absl::StatusOr<PartialSum> sum = Gather(assignment);
  const absl::Status gathered = sum.status();
  const absl::StatusOr<int> contributors =
      gathered.ok() ? Deliver(assignment, *std::move(sum)) : absl::StatusOr<int>(gathered);
  if (stopping_) return;
  OnRelayed(coordinator_, task.run,
            [round = task.round, outcome = contributors.status()](RelayedRun& relayed) {
              relayed.EndRound(round, outcome);
            });
  if (contributors.ok()) {
    ++counters_.accepted;
    counters_.contributors += static_cast<std::uint64_t>(*contributors);
    return;
  }
  ++(gathered.ok() && absl::IsFailedPrecondition(contributors.status()) ? counters_.refused
                                                                        : counters_.abandoned);
  runtime::LogWarning("round {} of {}: no sum for {}: {}", task.round, task.run, options_.parent.aggregator,
                      std::string(contributors.status().message()));
  // What the parent has refused, it knows.
  if (!gathered.ok()) client_->Decline(assignment, DeclineOf(gathered)).IgnoreError();
}

absl::StatusOr<int> Relay::Deliver(const Assignment& assignment, PartialSum sum) {
  const wire::TrainTask& task = assignment.task;
  for (;;) {
    const int contributors = sum.header.contributors_size();
    ASSIGN_OR_RETURN(const link::SubmitAnswer answer, client_->SubmitSum(assignment, sum.words, sum.header));
    if (answer.accepted()) return contributors;
    if (answer.counted_elsewhere().empty()) {
      return absl::FailedPreconditionError(fmt::format("the parent refuses the sum: {}: {}",
                                                       wire::EnumLabel(answer.reason()), answer.message()));
    }
    const std::vector<std::string> elsewhere(answer.counted_elsewhere().begin(),
                                             answer.counted_elsewhere().end());
    // Each time at least one update less, or an error.
    absl::StatusOr<PartialSum> less = Await(assignment, [&](const RelayedRun::SumDone& done) {
      OnRelayed(
          coordinator_, task.run,
          [round = task.round, nodes = elsewhere, done](RelayedRun& relayed) {
            done(relayed.LeaveOut(round, nodes));
          },
          [run = task.run, done] { done(NoSuchRun(run)); });
    });
    if (!less.ok()) {
      client_->Decline(assignment, DeclineOf(less.status())).IgnoreError();
      return less.status();
    }
    counters_.left_out += static_cast<std::uint64_t>(contributors - less->header.contributors_size());
    sum = *std::move(less);
  }
}

absl::StatusOr<PartialSum> Relay::Gather(const Assignment& assignment) {
  const wire::TrainTask& task = assignment.task;
  absl::StatusOr<RunConfig> config = RelayedConfig(task);
  if (!config.ok()) return absl::UnimplementedError(config.status().message());
  const auto known = coordinator_.board().Find(task.run);
  std::string model;
  if (known == nullptr || known->run.model_sha256() != task.train.model_sha256()) {
    ASSIGN_OR_RETURN(model, client_->FetchModel(assignment));
  }
  ++counters_.rounds;
  return Await(assignment, [&](RelayedRun::SumDone done) {
    BeginRelayed(coordinator_, *std::move(config), RoundOf(task, clock_), std::move(model), std::move(done));
  });
}

absl::StatusOr<PartialSum> Relay::Await(const Assignment& assignment,
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

void Relay::Collect(runtime::Reading& reading) const {
  reading.Counter("tributary_relay_rounds_total", "Rounds of the parent that were begun here.", {},
                  counters_.rounds);
  const auto sums = [&](const char* outcome, std::uint64_t count) {
    reading.Counter("tributary_relay_sums_total", "Rounds of the parent by what became of the partial sum.",
                    {{"outcome", outcome}}, count);
  };
  sums("accepted", counters_.accepted);
  sums("refused", counters_.refused);
  sums("abandoned", counters_.abandoned);
  reading.Counter("tributary_relay_contributors_total", "Nodes in the accepted partial sums.", {},
                  counters_.contributors);
  reading.Counter("tributary_relay_left_out_total",
                  "Nodes left out of a partial sum: the parent counts them elsewhere.", {},
                  counters_.left_out);
  reading.Gauge("tributary_relay_participating", "1 while the parent says what to do.", {},
                client_->state() == v1::PARENT_STATE_PARTICIPATING ? 1 : 0);
}

absl::StatusOr<RunConfig> RelayedConfig(const wire::TrainTask& task) {
  constexpr std::uint64_t kMaxRounds = std::numeric_limits<std::int32_t>::max();
  const v1::ClientSettings& settings = task.train.settings();
  if (task.masking || task.train.uniform_weight() || settings.clip_norm() > 0) {
    return absl::FailedPreconditionError("this run looks at single updates: it takes no partial sums");
  }
  const bool schedule = settings.schedule_steps() > 0;
  const std::uint64_t rounds = schedule ? settings.schedule_steps() / settings.local_steps() : kMaxRounds;
  if (rounds > kMaxRounds || (schedule && rounds * settings.local_steps() != settings.schedule_steps())) {
    return absl::FailedPreconditionError("the schedule does not end with a round: it cannot be handed on");
  }
  RunConfig config;
  config.name = task.run;
  config.relayed = true;
  config.rounds = static_cast<std::uint32_t>(rounds);
  config.min_nodes = 1;
  config.quorum = 1;
  config.max_nodes = 10'000;
  config.max_samples = 1'000'000'000'000'000;
  config.max_element = task.fixed_point.bound;
  config.client = settings;
  return config;
}

void BeginRelayed(Coordinator& coordinator, RunConfig config, ParentRound round, std::string model_file,
                  RelayedRun::SumDone done) {
  coordinator.Post([config = std::move(config), round, model_file = std::move(model_file),
                    done = std::move(done)](HostedRuns& runs, Attendance& nodes) {
    const bool here = runs.Find(config.name) != nullptr;
    const absl::StatusOr<Run*> run = runs.StartRelayed(config, model_file, round);
    if (!run.ok()) return done(run.status());
    if (!here) nodes.AssignWaiting();
    const absl::Status status = (*run)->relayed()->BeginRound(round, model_file, done);
    if (!status.ok()) done(status);
  });
}

void OnRelayed(Coordinator& coordinator, std::string run, std::function<void(RelayedRun&)> act,
               std::function<void()> missing) {
  coordinator.Post([run = std::move(run), act = std::move(act), missing = std::move(missing)](
                       HostedRuns& runs, Attendance&) {
    Run* hosted = runs.Find(run);
    if (hosted != nullptr && hosted->relayed() != nullptr) {
      act(*hosted->relayed());
    } else if (missing) {
      missing();
    }
  });
}

}  // namespace tributary::learning
