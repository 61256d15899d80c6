// Rounds of simulated nodes (simulated_node.h) against a running aggregator, for federation_scale.py.
//
// usage: federation_scale_bench run PORT PID NODES ROUNDS ELEMENTS LIMIT_S
//        federation_scale_bench wait PORT PID NODES LIMIT_S
// `run` starts a run and measures ROUNDS rounds behind an unmeasured first one. `wait` needs an aggregator
// without a run. PID is the aggregator's. Prints one line of JSON; "incomplete" if LIMIT_S passed first. Exit
// status 1: a call failed for good, or a round did not accept one update of each node.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measured_process.h"
#include "bench/simulated_node.h"
#include "core/link/channel.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/update_encoding.h"
#include "tributary/v1/federation.grpc.pb.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary {
namespace {

using Seconds = std::chrono::duration<double>;
using nlohmann::json;

// The aggregator admits 128 streams per connection: here, a Participate stream and one other call of each
// node.
constexpr std::size_t kNodesPerChannel = 60;
// From the last event that matters to a reading of memory: queued notices leave, and the aggregator, which
// looks every two seconds whether it is quiet, gives freed buffers back.
constexpr std::chrono::seconds kSettle{5};
constexpr std::chrono::seconds kIdle{5};

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
    Join();
    while (!fleet_.done() && SteadyClock::now() < end_) HandleEvent(end_);
    const bool complete = fleet_.done();
    const Fleet::Mark end = complete ? fleet_.rounds.at(fleet_.last_round) : fleet_.Now();
    if (complete) HandleEventsFor(kSettle);
    json row = {{"nodes", plan_.nodes}, {"elements", plan_.elements}};
    row.update(Joins());
    row.update(Rounds(end));
    row["resident_bytes"] = aggregator_.ResidentBytes();
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
