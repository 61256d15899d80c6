// A small language for tests of trees: child aggregators between a parent and nodes, in one process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aggregator/learning/relay/relay.h"
#include "aggregator/learning/service/rounds_fixture.h"
#include "core/link/federation_client.h"
#include "core/parameters/flat_model.h"
#include "core/runtime/clock.h"

namespace tributary::testing {

// The machine's clock, set wrong.
class WrongClock final : public runtime::Clock {
 public:
  explicit WrongClock(std::int64_t ahead_ns) : ahead_ns_(ahead_ns) {}

  std::int64_t UnixNs() const override { return clock_.UnixNs() + ahead_ns_; }
  std::int64_t SteadyNs() const override { return clock_.SteadyNs(); }
  void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const override {
    clock_.SleepUntil(unix_ns - ahead_ns_, std::move(stop));
  }
  void SleepFor(std::int64_t ns, std::stop_token stop) const override {
    clock_.SleepFor(ns, std::move(stop));
  }

 private:
  const runtime::SystemClock clock_;
  const std::int64_t ahead_ns_;
};

// An aggregator whose nodes are one node of its parent.
class Child {
 public:
  Child(const RoundsHost& parent, std::string name, std::size_t min_nodes, std::int64_t ahead_ns = 0)
      : clock_(ahead_ns), parent_(parent), name_(std::move(name)), min_nodes_(min_nodes) {
    host_.Start();
    StartRelay();
  }
  ~Child() { relay_.reset(); }

  // What a crash leaves.
  void Restart() {
    relay_.reset();
    host_.Restart();
    StartRelay();
  }

  RoundsHost& host() { return host_; }
  const learning::Relay& relay() const { return *relay_; }

 private:
  void StartRelay() {
    learning::RelayOptions options;
    options.parent.aggregator = "127.0.0.1:" + std::to_string(parent_.port());
    options.parent.node = name_;
    options.min_nodes = min_nodes_;
    relay_ = std::make_unique<learning::Relay>(std::move(options), host_.coordinator(), clock_);
  }

  WrongClock clock_;
  const RoundsHost& parent_;
  std::string name_;
  std::size_t min_nodes_;
  RoundsHost host_;
  std::unique_ptr<learning::Relay> relay_;
};

// A node that answers every task, with ten samples for each letter of its name. What it sends depends on its
// name, the round and the model alone, not on where it is connected.
class Leaf {
 public:
  Leaf(const RoundsHost& host, std::string name, std::string run = "")
      : name_(std::move(name)),
        samples_(10 * name_.size()),
        client_(Options(host.port(), name_, std::move(run), samples_), clock_),
        thread_([this] { Run(); }) {}
  ~Leaf() { Stop(); }

  void Stop() {
    client_.Stop();
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t samples() const { return samples_; }

 private:
  static link::FederationClientOptions Options(int port, const std::string& node, std::string run,
                                               std::uint64_t samples) {
    link::FederationClientOptions options;
    options.aggregator = "127.0.0.1:" + std::to_string(port);
    options.node = node;
    options.run = std::move(run);
    options.sample_count = samples;
    return options;
  }

  void Run() {
    while (const auto assignment = client_.Next()) {
      const auto file = client_.FetchModel(*assignment);
      if (file.ok()) Answer(*assignment, *file);
      client_.Finish(*assignment);
    }
  }

  void Answer(const link::FederationClient::Assignment& assignment, const std::string& file) {
    auto model = parameters::DecodeFlatModel(file);
    if (!model.ok()) return;
    std::seed_seq seed(name_.begin(), name_.end());
    std::mt19937 random(seed);
    random.discard(assignment.task.round * model->values.size());
    for (float& value : model->values) {
      value = 1e-4f * value + 1e-9f * static_cast<float>(random()) - 2.0f;
    }
    std::vector<float> remainder(model->values.size());
    v1::UpdateMetrics metrics;
    metrics.set_loss(0.5);
    metrics.set_spread(1.0);
    metrics.set_seconds(0.1);
    metrics.set_steps(1);
    client_.Submit(assignment, model->values, remainder, metrics).IgnoreError();
  }

  const std::string name_;
  const std::uint64_t samples_;
  runtime::SystemClock clock_;
  link::FederationClient client_;
  std::jthread thread_;
};

// Asks until it holds, for 20 s at most.
inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

}  // namespace tributary::testing
