#include "core/serial/session.h"

#include <array>
#include <variant>

#include "core/serial/reply.h"

namespace tributary::serial {

SessionCounters& SessionCounters::operator+=(const SessionCounters& other) {
  computed_inputs += other.computed_inputs;
  weight_updates += other.weight_updates;
  retrainings += other.retrainings;
  kept_weights += other.kept_weights;
  noise += other.noise;
  out_of_range += other.out_of_range;
  timeouts += other.timeouts;
  refused += other.refused;
  ignored_bytes += other.ignored_bytes;
  return *this;
}

void Session::Take(std::string_view bytes, std::int64_t now_ns, std::string& replies) {
  for (const char byte : bytes) {
    const auto parsed = parser_.Take(byte, now_ns);
    if (!parsed) continue;
    if (const auto* command = std::get_if<Command>(&*parsed)) {
      Do(*command, replies);
    } else {
      Answer(std::get<Fault>(*parsed), replies);
    }
  }
}

void Session::Idle(std::int64_t now_ns, std::string& replies) {
  if (const auto fault = parser_.Idle(now_ns)) Answer(*fault, replies);
}

SessionCounters Session::counters() const {
  SessionCounters counters = counters_;
  counters.ignored_bytes = parser_.ignored_bytes();
  return counters;
}

void Session::Do(const Command& command, std::string& replies) {
  std::visit([&](const auto& each) { Do(each, replies); }, command);
}

void Session::Do(const SetLayer& set, std::string& replies) {
  if (const absl::Status status = board_.SetLayer(set.layer, set.weights); !status.ok())
    return Refuse(status, replies);
  ++counters_.weight_updates;
  if (acknowledges_) replies += "ok\n";
}

void Session::Do(const Compute& compute, std::string& replies) {
  std::array<Outputs, kMostInputs> outputs;
  const std::span<Outputs> used = std::span(outputs).first(compute.inputs.size());
  if (const absl::Status status = board_.Compute(compute.inputs, used); !status.ok())
    return Refuse(status, replies);
  counters_.computed_inputs += used.size();
  for (const Outputs& each : used) replies += OutputsText(each) + "\n";
}

void Session::Do(const Retrain& retrain, std::string& replies) {
  const absl::StatusOr<Retraining> done = board_.Retrain(retrain.samples);
  if (!done.ok()) return Refuse(done.status(), replies);
  ++(done->taken ? counters_.retrainings : counters_.kept_weights);
  if (acknowledges_) replies += RetrainingText(*done) + "\n";
}

void Session::Do(const AskVersion&, std::string& replies) {
  acknowledges_ = true;
  replies += std::string(kVersionReply) + "\n";
}

void Session::Answer(const Fault& fault, std::string& replies) {
  switch (fault.kind) {
    case FaultKind::kNoise:
      ++counters_.noise;
      break;
    case FaultKind::kRange:
      ++counters_.out_of_range;
      break;
    case FaultKind::kTimeout:
      ++counters_.timeouts;
      break;
  }
  replies += RefusalText(fault.position, fault.what) + "\n";
}

void Session::Refuse(const absl::Status& status, std::string& replies) {
  ++counters_.refused;
  replies += RefusalText(0, std::string(status.message())) + "\n";
}

}  // namespace tributary::serial
