// Simulated nodes for federation_scale.py: each holds a Participate stream to an aggregator, fetches the
// model of every round and submits one int8 update. All calls run on one thread and one completion queue, and
// the update is encoded once, so that the aggregator is what is measured.
//
// usage: federation_scale_bench run PORT PID NODES ROUNDS ELEMENTS LIMIT_S
//        federation_scale_bench wait PORT PID NODES LIMIT_S
// `run` starts a run and measures ROUNDS rounds behind an unmeasured first one. `wait` needs an aggregator
// without a run. PID is the aggregator's. Prints one line of JSON; "incomplete" if LIMIT_S passed first. Exit
// status 1: a call failed for good, or a round did not accept one update of each node.
#include <fmt/format.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/link/channel.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/update_encoding.h"
#include "tributary/v1/federation.grpc.pb.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using nlohmann::json;

constexpr char kRun[] = "scale";
constexpr std::uint64_t kSamples = 10;
// The aggregator admits 1,024 streams per connection: here, a Participate stream and one other call of each
// node.
constexpr std::size_t kNodesPerChannel = 500;
// As a real node, before it repeats a call that broke off.
constexpr std::chrono::milliseconds kRepeatAfter{500};
constexpr std::chrono::minutes kAttempt{10};
// From the last event that matters to a reading of memory: freed buffers go back and queued notices leave.
constexpr std::chrono::seconds kSettle{1};
constexpr std::chrono::seconds kIdle{5};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "federation_scale_bench: %s\n", what.c_str());
  std::_Exit(1);
}

// --- What the processes use ---

class AggregatorProcess {
 public:
  explicit AggregatorProcess(const std::string& pid) : folder_("/proc/" + pid) {}

  // User and system time of all its threads, in steps of 10 ms.
  double CpuSeconds() const {
    std::ifstream file(folder_ + "/stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (line.rfind(')') == std::string::npos) Die("the aggregator has ended");
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::vector<std::string> rest{std::istream_iterator<std::string>(fields), {}};
    // utime and stime are fields 14 and 15; `rest` begins with field 3.
    return static_cast<double>(std::stoll(rest.at(11)) + std::stoll(rest.at(12))) /
           static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  std::int64_t ResidentBytes() const { return StatusBytes("VmRSS:"); }
  std::int64_t PeakBytes() const { return StatusBytes("VmHWM:"); }
  void CheckThatItRuns() const { ResidentBytes(); }

 private:
  std::int64_t StatusBytes(std::string_view key) const {
    std::ifstream file(folder_ + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
    }
    Die("the aggregator has ended");
  }

  const std::string folder_;
};

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// --- Calls of one node ---

// What the completion queue gives back.
class Event {
 public:
  virtual ~Event() = default;
  virtual void OnEvent(bool ok) = 0;
};

// What all nodes share, and what they have done. One thread.
struct Fleet {
  grpc::CompletionQueue queue;
  const AggregatorProcess& aggregator;
  std::string run = {};                // empty: the nodes wait for any
  std::uint32_t last_round = 0;        // the task of this round is not done: the measurement ends with it
  v1::SubmitUpdateRequest chunk = {};  // the update, for every node and round
  std::uint64_t element_count = 0;

  // At the first task of a round that any node gets.
  struct Mark {
    SteadyClock::time_point at;
    double aggregator_cpu_s = 0;
    double own_cpu_s = 0;
    std::uint64_t accepted = 0;
  };
  Mark Now() const { return {SteadyClock::now(), aggregator.CpuSeconds(), OwnCpuSeconds(), accepted}; }

  std::map<std::uint32_t, Mark> rounds = {};
  std::size_t joined = 0;  // nodes that got a notice
  SteadyClock::time_point last_joined = {};
  std::uint64_t notices = 0;
  std::uint64_t accepted = 0;
  std::uint64_t repeated = 0;  // calls that broke off, and were begun again

  // The first task of the last round says that the one before is committed.
  bool done() const { return rounds.contains(last_round); }
};

struct Identity {
  std::string node;
  std::string boot_id;
};

void Prepare(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kAttempt);
}

// Whether a real node would call again.
bool Passes(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::CANCELLED ||
         status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

// An attempt at a call, and the next one if it breaks off.
class RepeatedCall : public Event {
 public:
  RepeatedCall(Fleet& fleet, v1::FederationService::Stub& stub, const Identity& self)
      : fleet_(fleet), stub_(stub), self_(self) {}

 protected:
  // The reader or writer of the attempt before lies in its context's memory and must be gone.
  grpc::ClientContext& NewContext() {
    context_ = std::make_unique<grpc::ClientContext>();
    return *context_;
  }
  void BeginAgainLater(const char* call, const grpc::Status& status) {
    if (!Passes(status)) {
      Die(fmt::format("{}: {} fails with code {}: {}", self_.node, call,
                      static_cast<int>(status.error_code()), status.error_message()));
    }
    fleet_.aggregator.CheckThatItRuns();
    ++fleet_.repeated;
    alarm_.Set(&fleet_.queue, std::chrono::system_clock::now() + kRepeatAfter, this);
  }

  Fleet& fleet_;
  v1::FederationService::Stub& stub_;
  const Identity& self_;

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  grpc::Alarm alarm_;
};

class UpdateSubmission : public RepeatedCall {
 public:
  using RepeatedCall::RepeatedCall;

  void Begin(const v1::TrainTask& task) {
    v1::UpdateHeader& header = *request_.mutable_header();
    header.set_run(kRun);
    header.set_round(task.round());
    header.set_node(self_.node);
    header.set_boot_id(self_.boot_id);
    header.set_schema_sha256(task.schema_sha256());
    header.set_base_model_sha256(task.model_sha256());
    header.set_encoding(v1::UPDATE_ENCODING_INT8);
    header.set_element_count(task.element_count());
    header.set_sample_count(kSamples);
    v1::UpdateMetrics& metrics = *header.mutable_metrics();
    metrics.set_loss(0.5);
    metrics.set_spread(1);
    metrics.set_seconds(0.1);
    metrics.set_steps(1);
    Begin();
  }

  void OnEvent(bool ok) override {
    switch (step_) {
      case Step::kHeader:
        if (!ok) return End();
        step_ = Step::kChunk;
        return writer_->WriteLast(fleet_.chunk, {}, this);
      case Step::kChunk:
        return End();
      case Step::kEnd:
        return Finish();
      case Step::kRest:
        return Begin();
    }
  }

 private:
  enum class Step { kHeader, kChunk, kEnd, kRest };

  void Begin() {
    writer_.reset();
    grpc::ClientContext& context = NewContext();
    Prepare(context);
    context.set_initial_metadata_corked(true);  // it leaves with the header
    response_.Clear();
    writer_ = stub_.PrepareAsyncSubmitUpdate(&context, &response_, &fleet_.queue);
    writer_->StartCall(this);
    step_ = Step::kHeader;
    writer_->Write(request_, this);
  }
  void End() {
    step_ = Step::kEnd;
    writer_->Finish(&status_, this);
  }
  void Finish() {
    step_ = Step::kRest;
    if (!status_.ok()) return BeginAgainLater("SubmitUpdate", status_);
    if (response_.accepted()) {
      ++fleet_.accepted;
      return;
    }
    const std::string refusal =
        fmt::format("{}: {}", v1::SubmitRefusal_Name(response_.reason()), response_.message());
    BeginAgainLater(
        "SubmitUpdate",
        {response_.try_again() ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::ABORTED, refusal});
  }

  Step step_ = Step::kRest;
  v1::SubmitUpdateRequest request_;  // the header
  v1::SubmitUpdateResponse response_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncWriter<v1::SubmitUpdateRequest>> writer_;
};

class ModelFetch : public RepeatedCall {
 public:
  ModelFetch(Fleet& fleet, v1::FederationService::Stub& stub, const Identity& self, UpdateSubmission& then)
      : RepeatedCall(fleet, stub, self), then_(then) {}

  void Begin(const v1::TrainTask& task) {
    task_ = task;
    Begin();
  }

  void OnEvent(bool ok) override {
    switch (step_) {
      case Step::kStart:
        if (!ok) return End();
        step_ = Step::kRead;
        return reader_->Read(&chunk_, this);
      case Step::kRead:
        if (!ok) return End();
        Take();
        return reader_->Read(&chunk_, this);
      case Step::kEnd:
        return Finish();
      case Step::kRest:
        return Begin();
    }
  }

 private:
  enum class Step { kStart, kRead, kEnd, kRest };

  void Begin() {
    v1::FetchModelRequest request;
    request.set_run(kRun);
    request.set_round(task_.round());
    request.set_node(self_.node);
    received_ = 0;
    reader_.reset();
    grpc::ClientContext& context = NewContext();
    Prepare(context);
    reader_ = stub_.PrepareAsyncFetchModel(&context, request, &fleet_.queue);
    step_ = Step::kStart;
    reader_->StartCall(this);
  }
  void Take() {
    if (chunk_.offset() != received_ || chunk_.crc32c() != parameters::Crc32c(chunk_.bytes())) {
      Die(self_.node + ": a damaged chunk of the model");
    }
    received_ += chunk_.bytes().size();
  }
  void End() {
    step_ = Step::kEnd;
    reader_->Finish(&status_, this);
  }
  void Finish() {
    step_ = Step::kRest;
    if (!status_.ok()) return BeginAgainLater("FetchModel", status_);
    if (received_ != task_.model_bytes()) Die(self_.node + ": the model is not as long as the task says");
    then_.Begin(task_);
  }

  UpdateSubmission& then_;
  Step step_ = Step::kRest;
  v1::TrainTask task_;
  v1::FetchModelResponse chunk_;
  std::uint64_t received_ = 0;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::FetchModelResponse>> reader_;
};

class TaskStream : public RepeatedCall {
 public:
  TaskStream(Fleet& fleet, v1::FederationService::Stub& stub, const Identity& self, ModelFetch& then)
      : RepeatedCall(fleet, stub, self), then_(then) {}

  void Begin() {
    v1::ParticipateRequest request;
    request.set_node(self_.node);
    request.set_boot_id(self_.boot_id);
    request.set_run(fleet_.run);
    request.set_sample_count(kSamples);
    reader_.reset();
    reader_ = stub_.PrepareAsyncParticipate(&NewContext(), request, &fleet_.queue);
    step_ = Step::kStart;
    reader_->StartCall(this);
  }

  void OnEvent(bool ok) override {
    switch (step_) {
      case Step::kStart:
        if (!ok) return End();
        step_ = Step::kRead;
        return reader_->Read(&notice_, this);
      case Step::kRead:
        if (!ok) return End();
        Take();
        return reader_->Read(&notice_, this);
      case Step::kEnd:
        step_ = Step::kRest;
        if (status_.ok()) Die(self_.node + ": the run has ended: " + notice_.ended().reason());
        return BeginAgainLater("Participate", status_);
      case Step::kRest:
        return Begin();
    }
  }

 private:
  enum class Step { kStart, kRead, kEnd, kRest };

  void Take() {
    ++fleet_.notices;
    if (!joined_) {
      joined_ = true;
      ++fleet_.joined;
      fleet_.last_joined = SteadyClock::now();
    }
    if (!notice_.has_train() || notice_.train().round() == round_) return;
    round_ = notice_.train().round();
    if (!fleet_.rounds.contains(round_)) fleet_.rounds[round_] = fleet_.Now();
    if (notice_.train().element_count() != fleet_.element_count) Die("the run has another model");
    if (round_ != fleet_.last_round) then_.Begin(notice_.train());
  }
  void End() {
    step_ = Step::kEnd;
    reader_->Finish(&status_, this);
  }

  ModelFetch& then_;
  Step step_ = Step::kRest;
  bool joined_ = false;
  std::uint32_t round_ = 0;  // of the latest task
  v1::ParticipateResponse notice_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::ParticipateResponse>> reader_;
};

struct SimulatedNode {
  SimulatedNode(Fleet& fleet, v1::FederationService::Stub& stub, std::size_t index)
      : self{fmt::format("n{:05}", index), fmt::format("{:016}", index)},
        submission(fleet, stub, self),
        fetch(fleet, stub, self, submission),
        tasks(fleet, stub, self, fetch) {}

  Identity self;
  UpdateSubmission submission;
  ModelFetch fetch;
  TaskStream tasks;
};

// --- The measurement ---

struct Plan {
  std::string address;
  std::string pid;
  std::size_t nodes = 0;
  std::uint32_t rounds = 0;
  std::size_t elements = 0;
  Seconds limit{};
};

v1::SubmitUpdateRequest EncodedUpdate(std::size_t elements) {
  if (elements > parameters::ElementsPerChunk(parameters::UpdateEncoding::kInt8))
    Die("ELEMENTS: the update must fit one chunk");
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = 1e-5f * static_cast<float>(i % 199) - 1e-3f;
  v1::SubmitUpdateRequest request;
  v1::UpdateChunk& chunk = *request.mutable_chunk();
  chunk.set_count(static_cast<std::uint32_t>(elements));
  if (!parameters::EncodeChunk(parameters::UpdateEncoding::kInt8, values, *chunk.mutable_payload()).ok())
    Die("no update");
  chunk.set_crc32c(parameters::Crc32c(chunk.payload()));
  return request;
}

class Measurement {
 public:
  explicit Measurement(const Plan& plan)
      : plan_(plan),
        aggregator_(plan.pid),
        fleet_{.queue = {}, .aggregator = aggregator_},
        end_(SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(plan.limit)),
        operator_channel_(link::MakeChannel(plan.address, std::nullopt)),
        runs_(v1::RunService::NewStub(operator_channel_)) {}

  json Run() {
    fleet_.run = kRun;
    fleet_.element_count = plan_.elements;
    fleet_.chunk = EncodedUpdate(plan_.elements);
    fleet_.last_round = plan_.rounds + 2;  // behind the unmeasured one and those that count
    StartRun();
    HandleEventsFor(kSettle);
    const std::int64_t without_nodes = aggregator_.ResidentBytes();
    Join();
    while (!fleet_.done() && SteadyClock::now() < end_) HandleEvent(end_);
    const bool complete = fleet_.done();
    const Fleet::Mark end = complete ? fleet_.rounds.at(fleet_.last_round) : fleet_.Now();
    if (complete) HandleEventsFor(kSettle);
    json row = {{"nodes", plan_.nodes}, {"elements", plan_.elements}};
    row.update(Joins());
    row.update(Rounds(end));
    row["resident_bytes_per_node"] = nullptr;
    if (fleet_.rounds.contains(2)) {
      row["resident_bytes_per_node"] = PerNode(aggregator_.ResidentBytes() - without_nodes);
    }
    row["resident_bytes_without_nodes"] = without_nodes;
    row["peak_resident_bytes"] = aggregator_.PeakBytes();
    row["repeated_calls"] = fleet_.repeated;
    row["incomplete"] = !complete;
    if (complete) CheckRounds();
    return row;
  }

  json Wait() {
    const std::int64_t without_nodes = aggregator_.ResidentBytes();
    Join();
    while (fleet_.joined < plan_.nodes && SteadyClock::now() < end_) HandleEvent(end_);
    const bool complete = fleet_.joined == plan_.nodes;
    HandleEventsFor(kSettle);
    const Fleet::Mark begin = fleet_.Now();
    HandleEventsFor(kIdle);
    const Fleet::Mark end = fleet_.Now();
    const double seconds = Seconds(end.at - begin.at).count();
    return {{"nodes", plan_.nodes},
            {"waiting_joins_per_s", Joins()["joins_per_s"]},
            {"waiting_resident_bytes_per_node", PerNode(aggregator_.ResidentBytes() - without_nodes)},
            {"waiting_cpu_percent", 100 * (end.aggregator_cpu_s - begin.aggregator_cpu_s) / seconds},
            {"peak_resident_bytes", aggregator_.PeakBytes()},
            {"incomplete", !complete}};
  }

 private:
  void HandleEvent(SteadyClock::time_point until) {
    void* tag = nullptr;
    bool ok = false;
    const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(until - SteadyClock::now());
    const auto got = fleet_.queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + wait);
    if (got == grpc::CompletionQueue::GOT_EVENT) static_cast<Event*>(tag)->OnEvent(ok);
  }
  void HandleEventsFor(std::chrono::seconds time) {
    const SteadyClock::time_point until = SteadyClock::now() + time;
    while (SteadyClock::now() < until) HandleEvent(until);
  }

  void StartRun() {
    parameters::TensorSet set;
    set.tensors["w"] = parameters::FloatTensor(std::vector<std::uint64_t>{plan_.elements},
                                               std::vector<float>(plan_.elements));
    grpc::ClientContext context;
    Prepare(context);
    v1::StartRunResponse response;
    const auto writer = runs_->StartRun(&context, &response);
    v1::StartRunRequest request;
    request.set_config(
        fmt::format("name = \"{}\"\nrounds = {}\nmin_nodes = {}\nmax_nodes = {}\nquorum = {}\n"
                    "deadline_s = 3600\n[client]\nencoding = \"int8\"\n",
                    kRun, fleet_.last_round, plan_.nodes, plan_.nodes, plan_.nodes));
    writer->Write(request);
    request.clear_config();
    const std::string model = parameters::EncodeSafetensors(set);
    for (std::size_t at = 0; at < model.size(); at += parameters::kMaxChunkBytes) {
      request.set_chunk(model.substr(at, parameters::kMaxChunkBytes));
      writer->Write(request);
    }
    writer->WritesDone();
    if (const grpc::Status status = writer->Finish(); !status.ok()) Die(status.error_message());
  }

  void Join() {
    for (std::size_t i = 0; i < plan_.nodes; ++i) {
      if (i % kNodesPerChannel == 0) {
        stubs_.push_back(v1::FederationService::NewStub(link::MakeChannel(plan_.address, std::nullopt)));
      }
      nodes_.push_back(std::make_unique<SimulatedNode>(fleet_, *stubs_.back(), i));
    }
    join_begin_ = SteadyClock::now();
    for (const auto& node : nodes_) node->tasks.Begin();
  }

  json Joins() const {
    const double seconds = Seconds(fleet_.last_joined - join_begin_).count();
    return {{"joined", fleet_.joined},
            {"joins_per_s", fleet_.joined > 0 ? static_cast<double>(fleet_.joined) / seconds : 0}};
  }

  // Null where nothing was reached.
  json Rounds(const Fleet::Mark& end) const {
    json row = {{"rounds", 0},
                {"accepted_updates", fleet_.accepted},
                {"notices", fleet_.notices},
                {"seconds_per_round", nullptr},
                {"cpu_ms_per_update", nullptr}};
    // The first round warms up, but is better than none.
    const auto second = fleet_.rounds.find(2);
    const auto first = second != fleet_.rounds.end() ? second : fleet_.rounds.find(1);
    if (first == fleet_.rounds.end()) return row;
    std::vector<double> seconds;
    for (auto each = first; std::next(each) != fleet_.rounds.end(); ++each) {
      seconds.push_back(Seconds(std::next(each)->second.at - each->second.at).count());
    }
    row["rounds"] = seconds.size();
    if (!seconds.empty()) {
      std::ranges::sort(seconds);
      row["seconds_per_round"] = seconds[seconds.size() / 2];
    }
    const Fleet::Mark& begin = first->second;
    const auto updates = static_cast<double>(end.accepted - begin.accepted);
    const double wall_s = Seconds(end.at - begin.at).count();
    const double cpu_s = end.aggregator_cpu_s - begin.aggregator_cpu_s;
    const double own_s = end.own_cpu_s - begin.own_cpu_s;
    if (updates > 0) {
      row["cpu_ms_per_update"] = 1e3 * cpu_s / updates;
      row["generator_cpu_ms_per_update"] = 1e3 * own_s / updates;
    }
    row["aggregator_cpu_percent"] = 100 * cpu_s / wall_s;
    row["generator_cpu_percent"] = 100 * own_s / wall_s;
    return row;
  }

  double PerNode(std::int64_t bytes) const {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::size_t>(1, fleet_.joined));
  }

  // The aggregator's own history: each finished round counted one update of each node.
  void CheckRounds() {
    {
      grpc::ClientContext context;
      Prepare(context);
      v1::StopRunRequest request;
      request.set_run(kRun);
      v1::StopRunResponse response;
      if (const grpc::Status status = runs_->StopRun(&context, request, &response); !status.ok()) {
        Die("StopRun: " + status.error_message());
      }
    }
    grpc::ClientContext context;
    Prepare(context);
    v1::WatchRunRequest request;
    request.set_run(kRun);
    const auto reader = runs_->WatchRun(&context, request);
    std::uint32_t checked = 0;
    for (v1::WatchRunResponse response; reader->Read(&response);) {
      for (const v1::Round& round : response.rounds()) {
        if (round.round() >= fleet_.last_round) continue;
        if (round.accepted() != plan_.nodes || !round.failure().empty()) {
          Die(fmt::format("round {} accepted {} of {} updates {}", round.round(), round.accepted(),
                          plan_.nodes, round.failure()));
        }
        ++checked;
      }
    }
    if (const grpc::Status status = reader->Finish(); !status.ok())
      Die("WatchRun: " + status.error_message());
    if (checked + 1 != fleet_.last_round) {
      Die(fmt::format("the history has {} rounds, expected {}", checked, fleet_.last_round - 1));
    }
  }

  const Plan plan_;
  const AggregatorProcess aggregator_;
  Fleet fleet_;
  const SteadyClock::time_point end_;
  const std::shared_ptr<grpc::Channel> operator_channel_;
  const std::unique_ptr<v1::RunService::Stub> runs_;
  std::vector<std::unique_ptr<v1::FederationService::Stub>> stubs_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  SteadyClock::time_point join_begin_;
};

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  const std::span<char*> given(argv, static_cast<std::size_t>(argc));
  const bool run = given.size() == 8 && std::string_view(given[1]) == "run";
  const bool wait = given.size() == 6 && std::string_view(given[1]) == "wait";
  if (!run && !wait)
    tributary::Die("usage: run PORT PID NODES ROUNDS ELEMENTS LIMIT_S | wait PORT PID NODES LIMIT_S");
  tributary::Plan plan;
  plan.address = std::string("127.0.0.1:") + given[2];
  plan.pid = given[3];
  plan.nodes = std::stoul(given[4]);
  if (run) {
    plan.rounds = static_cast<std::uint32_t>(std::stoul(given[5]));
    plan.elements = std::stoul(given[6]);
  }
  plan.limit = tributary::Seconds(std::stod(given.back()));
  // Calls that are under way hold on to it: it ends with the process.
  auto* measurement = new tributary::Measurement(plan);
  const nlohmann::json row = run ? measurement->Run() : measurement->Wait();
  fmt::print("{}\n", row.dump());
  std::fflush(stdout);
  std::_Exit(0);
}
