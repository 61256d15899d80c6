#include "core/wire/federation_convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "core/learning/client_settings.h"
#include "core/wire/masking_convert.h"
#include "core/wire/peer_text.h"

namespace tributary::wire {
namespace {

constexpr std::size_t kShaBytes = 32;
constexpr std::size_t kMaxRunName = 128;
// 2^96 times a sample count of 2^31 still fits in a float.
constexpr int kMaxFractionBits = 96;

// The first fault of these, or nothing.
class Check {
 public:
  void That(bool holds, std::string_view field, std::string_view allowed) {
    if (!holds && status_.ok()) {
      status_ = absl::InvalidArgumentError(fmt::format("{} must be {}", field, allowed));
    }
  }
  void That(absl::Status holds) {
    if (status_.ok()) status_ = std::move(holds);
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

void CheckRound(const std::string& run, std::uint32_t round, Check& check) {
  check.That(!run.empty() && run.size() <= kMaxRunName, "run",
             fmt::format("a name of 1 to {} bytes", kMaxRunName));
  check.That(round >= 1, "round", "at least 1");
}

parameters::FixedPoint FixedPointFromWire(const v1::TrainTask& wire, Check& check) {
  const parameters::FixedPoint fixed_point{wire.fraction_bits(), wire.max_element()};
  check.That(std::abs(fixed_point.fraction_bits) <= kMaxFractionBits, "fraction_bits",
             fmt::format("from -{0} to {0}, found {1}", kMaxFractionBits, fixed_point.fraction_bits));
  // NaN fails here, too. With a weight of 1 the largest element must fit in a word.
  check.That(fixed_point.bound > 0 && std::ldexp(fixed_point.bound, fixed_point.fraction_bits) < 0x1p31,
             "max_element", "positive and below 2^(31 - fraction_bits)");
  return fixed_point;
}

absl::StatusOr<FederationTask> TrainFromWire(const std::string& run, const v1::TrainTask& wire) {
  Check check;
  TrainTask task;
  task.run = run;
  task.round = wire.round();
  // A longer time is no deadline; adding it to the steady time must not overflow.
  constexpr std::int64_t kYearNs = 365LL * 24 * 3600 * 1'000'000'000;
  task.left_ns = std::clamp<std::int64_t>(wire.left_ns(), 0, kYearNs);
  task.model_sha256 = wire.model_sha256();
  task.model_bytes = wire.model_bytes();
  task.schema_sha256 = wire.schema_sha256();
  task.element_count = wire.element_count();
  task.uniform_weight = wire.uniform_weight();
  task.max_sample_count = wire.max_sample_count();
  CheckRound(run, task.round, check);
  check.That(task.model_sha256.size() == kShaBytes, "model_sha256", "of 32 bytes");
  check.That(task.schema_sha256.size() == kShaBytes, "schema_sha256", "of 32 bytes");
  check.That(task.model_bytes >= 1 && task.model_bytes <= kMaxModelBytes, "model_bytes",
             fmt::format("from 1 to {}", kMaxModelBytes));
  check.That(task.element_count >= 1 && task.element_count <= kMaxElements, "element_count",
             fmt::format("from 1 to {}", kMaxElements));
  task.settings = wire.settings();
  check.That(learning::AdoptFromTask(task.settings, wire.has_masking()));
  task.fixed_point = FixedPointFromWire(wire, check);
  if (!check.status().ok()) return check.status();
  if (wire.has_masking()) {
    absl::StatusOr<MaskingTask> masking = MaskingFromWire(wire.masking());
    if (!masking.ok()) return absl::FailedPreconditionError(std::string(masking.status().message()));
    if (masking->shares.size() + 1 != masking->nodes.size()) {
      return absl::FailedPreconditionError(
          fmt::format("masking: {} shares, expected one of each of {} others", masking->shares.size(),
                      masking->nodes.size() - 1));
    }
    task.masking = *std::move(masking);
  }
  return FederationTask(std::move(task));
}

// A step of secure aggregation; `contents` reads the part of its own.
template <class Task, class Wire>
absl::StatusOr<FederationTask> StepFromWire(const std::string& run, const Wire& wire,
                                            absl::Status (*contents)(const Wire&, Task&)) {
  Task task;
  task.run = run;
  task.round = wire.round();
  Check check;
  CheckRound(run, task.round, check);
  if (!check.status().ok()) return check.status();
  if (absl::Status status = contents(wire, task); !status.ok()) return status;
  return FederationTask(std::move(task));
}

absl::Status NoContents(const v1::AdvertiseKeysTask&, AdvertiseKeysTask&) { return absl::OkStatus(); }

}  // namespace

absl::StatusOr<FederationTask> TaskFromWire(const v1::ParticipateResponse& wire) {
  switch (wire.task_case()) {
    case v1::ParticipateResponse::kWait:
      return FederationTask(WaitTask{wire.run(), PeerText(wire.wait().reason())});
    case v1::ParticipateResponse::kTrain:
      return TrainFromWire(wire.run(), wire.train());
    case v1::ParticipateResponse::kAdvertiseKeys:
      return StepFromWire(wire.run(), wire.advertise_keys(), &NoContents);
    case v1::ParticipateResponse::kShareKeys:
      return StepFromWire(wire.run(), wire.share_keys(), &ShareKeysFromWire);
    case v1::ParticipateResponse::kUnmask:
      return StepFromWire(wire.run(), wire.unmask(), &UnmaskFromWire);
    case v1::ParticipateResponse::kEnded:
      return FederationTask(EndedTask{wire.run(), PeerText(wire.ended().reason()), wire.ended().rounds()});
    default:
      return absl::UnimplementedError("a task that this node does not know");
  }
}

std::string SubmitRefusalLabel(v1::SubmitRefusal reason) {
  constexpr std::string_view kPrefix = "SUBMIT_REFUSAL_";
  std::string name = v1::SubmitRefusal_Name(reason);
  if (!name.starts_with(kPrefix)) return "unspecified";
  name.erase(0, kPrefix.size());
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace tributary::wire
