// A node without images: it fetches models and submits updates as a real one does; a function makes the
// updates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "core/link/federation_client.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/clock.h"

namespace tributary::testing {

// The tensors of a model's file, one behind the other.
inline absl::StatusOr<std::vector<float>> FlatModel(const std::string& file) {
  const auto set = parameters::DecodeSafetensors(file);
  if (!set.ok()) return set.status();
  std::vector<float> flat;
  for (const auto& [name, tensor] : set->tensors) {
    const auto values = parameters::FloatValues(name, tensor, tensor.shape);
    if (!values.ok()) return values.status();
    flat.insert(flat.end(), values->begin(), values->end());
  }
  return flat;
}

// The update to this model, or nothing: the node drops out of this round. In a run of secure aggregation it
// has shared its keys by then.
using MakeUpdate = std::function<std::optional<std::vector<float>>(const link::FederationClient::Assignment&,
                                                                   link::FederationClient&)>;

// Before a node begins; false: it drops out of this round.
using TakePart = std::function<bool(const link::FederationClient::Assignment&)>;

// The number of nodes of a process that hold a model and an update at a time.
using Places = std::counting_semaphore<>;

class SimulatedNode {
 public:
  SimulatedNode(int aggregator_port, std::string name, std::string run, MakeUpdate make,
                TakePart take_part = {}, Places* places = nullptr)
      : make_(std::move(make)),
        take_part_(std::move(take_part)),
        places_(places),
        client_(Options(aggregator_port, std::move(name), std::move(run)), clock_) {
    thread_ = std::jthread([this] { Run(); });
  }
  ~SimulatedNode() { Stop(); }

  link::FederationClient::Counters counters() const { return client_.counters(); }

  void Stop() {
    client_.Stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  static constexpr std::uint64_t kSamples = 10;

  static link::FederationClientOptions Options(int port, std::string name, std::string run) {
    link::FederationClientOptions options;
    options.aggregator = "127.0.0.1:" + std::to_string(port);
    options.node = std::move(name);
    options.run = std::move(run);
    options.sample_count = kSamples;
    options.secure_aggregation = true;
    return options;
  }

  void Run() {
    while (const auto assignment = client_.Next()) {
      if (!take_part_ || take_part_(*assignment)) Answer(*assignment);
      client_.Finish(*assignment);
    }
  }

  void Answer(const link::FederationClient::Assignment& assignment) {
    if (places_ != nullptr) places_->acquire();
    if (std::optional<std::vector<float>> update = make_(assignment, client_)) {
      Send(assignment, *update);
    }
    if (places_ != nullptr) places_->release();
  }

  void Send(const link::FederationClient::Assignment& assignment, const std::vector<float>& update) {
    v1::UpdateHeader said;
    said.set_sample_count(kSamples);
    said.mutable_metrics()->set_loss(0.5);
    said.mutable_metrics()->set_spread(1.0);
    said.mutable_metrics()->set_seconds(0.1);
    said.mutable_metrics()->set_steps(1);
    const wire::TrainTask& task = assignment.task;
    if (!task.masking) {
      std::vector<float> remainder(update.size());
      client_.Submit(assignment, update, remainder, said.metrics()).IgnoreError();
      return;
    }
    std::vector<std::int32_t> words(update.size());
    parameters::ToFixedPoint(
        update, parameters::FixedPointFactor(task.fixed_point, task.train.uniform_weight() ? 1 : kSamples),
        words);
    client_.SubmitMasked(assignment, words, said).IgnoreError();
  }

  runtime::SystemClock clock_;
  MakeUpdate make_;
  TakePart take_part_;
  Places* places_;
  link::FederationClient client_;
  std::jthread thread_;
};

// A model of one tensor.
inline std::string OneTensorModel(std::span<const float> values) {
  parameters::TensorSet set;
  const std::uint64_t shape[] = {values.size()};
  set.tensors["w"] = parameters::FloatTensor(shape, values);
  return parameters::EncodeSafetensors(set);
}

}  // namespace tributary::testing
