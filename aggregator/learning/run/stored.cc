#include "aggregator/learning/run/stored.h"

#include <utility>

#include "aggregator/learning/run/update_header.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

RoundStarted RoundFromStored(std::uint32_t round, const v1::StoredRound& stored) {
  RoundStarted open;
  open.round = round;
  for (const v1::AskedNode& each : stored.asked()) {
    open.asked.push_back({each.node(), each.weight(), each.sample_count(), each.partial_sums()});
  }
  open.fixed_point = {stored.fraction_bits(), stored.bound()};
  return open;
}

}  // namespace

v1::StoredRun SnapshotToStored(const RunSnapshot& snapshot) {
  v1::StoredRun stored;
  stored.set_round(snapshot.round);
  stored.set_committed(snapshot.committed);
  stored.set_paused(snapshot.paused);
  stored.set_stopped(snapshot.stopped);
  for (const parameters::Sha256& model : snapshot.earlier_models) {
    stored.add_earlier_models(parameters::BytesOf(model));
  }
  if (!snapshot.open) return stored;
  v1::StoredRound& open = *stored.mutable_open();
  for (const AskedNode& each : snapshot.open->asked) {
    v1::AskedNode& asked = *open.add_asked();
    asked.set_node(each.node);
    asked.set_weight(each.weight);
    asked.set_sample_count(each.sample_count);
    asked.set_partial_sums(each.partial_sums);
  }
  open.set_fraction_bits(snapshot.open->fixed_point.fraction_bits);
  open.set_bound(snapshot.open->fixed_point.bound);
  open.set_step(static_cast<std::uint32_t>(snapshot.step));
  open.set_closed(snapshot.closed);
  return stored;
}

absl::StatusOr<RunSnapshot> SnapshotFromStored(const v1::StoredRun& stored) {
  RunSnapshot snapshot;
  snapshot.round = stored.round();
  snapshot.committed = stored.committed();
  snapshot.paused = stored.paused();
  snapshot.stopped = stored.stopped();
  for (const std::string& model : stored.earlier_models()) {
    const auto identity = Bytes32FromWire("earlier_models", model);
    if (!identity.ok()) return absl::DataLossError(identity.status().message());
    snapshot.earlier_models.push_back(*identity);
  }
  if (!stored.has_open()) return snapshot;
  if (stored.open().step() > static_cast<std::uint32_t>(RoundStep::kClosing)) {
    return absl::DataLossError("the store's run is at a step that does not exist");
  }
  snapshot.open = RoundFromStored(stored.round(), stored.open());
  snapshot.step = static_cast<RoundStep>(stored.open().step());
  snapshot.closed = stored.open().closed();
  return snapshot;
}

std::string EncodeUpdate(const KeptUpdate& update) {
  v1::StoredUpdate stored;
  *stored.mutable_header() = HeaderToWire(update.header);
  stored.set_weight(update.weight);
  stored.set_norm(update.norm);
  stored.set_payload_bytes(update.payload_bytes);
  return stored.SerializeAsString();
}

absl::StatusOr<KeptUpdate> DecodeUpdate(std::string_view bytes) {
  ASSIGN_OR_RETURN(const auto stored, ParseStored<v1::StoredUpdate>(bytes, "update"));
  absl::StatusOr<SubmissionHeader> header = HeaderFromWire(stored.header());
  if (!header.ok()) return absl::DataLossError(header.status().message());
  return KeptUpdate{*std::move(header), stored.weight(), stored.norm(), stored.payload_bytes(), {}};
}

}  // namespace tributary::learning
