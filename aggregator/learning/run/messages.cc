#include "aggregator/learning/run/messages.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/status/macros.h"
#include "core/wire/fields.h"

namespace tributary::learning {
namespace {

constexpr std::size_t kMaxContributors = 65'536;

// Shown, never computed with. NaN and infinity must not reach a table or a metric.
double Shown(double value) { return std::isfinite(value) ? value : 0; }

}  // namespace

std::optional<parameters::UpdateEncoding> EncodingFromWire(int encoding) {
  if (encoding < v1::UPDATE_ENCODING_FLOAT32 || encoding > v1::UPDATE_ENCODING_FIXED32) return std::nullopt;
  return static_cast<parameters::UpdateEncoding>(encoding);
}

absl::StatusOr<SubmissionHeader> HeaderFromWire(const v1::UpdateHeader& wire) {
  RETURN_IF_ERROR(wire::CheckName("header.node", wire.node()));
  SubmissionHeader header;
  header.round = wire.round();
  header.node = wire.node();
  ASSIGN_OR_RETURN(header.schema, wire::Bytes32FromWire("header.schema_sha256", wire.schema_sha256()));
  ASSIGN_OR_RETURN(header.base_model,
                   wire::Bytes32FromWire("header.base_model_sha256", wire.base_model_sha256()));
  const std::optional<parameters::UpdateEncoding> encoding = EncodingFromWire(wire.encoding());
  if (!encoding) {
    return absl::InvalidArgumentError(
        fmt::format("header.encoding: {} is not known here", static_cast<int>(wire.encoding())));
  }
  header.encoding = *encoding;
  header.element_count = wire.element_count();
  header.sample_count = wire.sample_count();
  header.metrics = {Shown(wire.metrics().loss()), Shown(wire.metrics().spread()),
                    Shown(wire.metrics().seconds()), wire.metrics().steps()};
  if (static_cast<std::size_t>(wire.contributors_size()) > kMaxContributors) {
    return absl::InvalidArgumentError(fmt::format("header.contributors: {} of them, at most {} are allowed",
                                                  wire.contributors_size(), kMaxContributors));
  }
  for (const v1::Contributor& each : wire.contributors()) {
    RETURN_IF_ERROR(wire::CheckName("header.contributors.node", each.node()));
    header.contributors.push_back({each.node(), each.sample_count()});
  }
  return header;
}

v1::UpdateHeader HeaderToWire(const SubmissionHeader& header) {
  v1::UpdateHeader wire;
  wire.set_round(header.round);
  wire.set_node(header.node);
  wire.set_schema_sha256(parameters::BytesOf(header.schema));
  wire.set_base_model_sha256(parameters::BytesOf(header.base_model));
  wire.set_encoding(static_cast<v1::UpdateEncoding>(header.encoding));
  wire.set_element_count(header.element_count);
  wire.set_sample_count(header.sample_count);
  v1::UpdateMetrics& metrics = *wire.mutable_metrics();
  metrics.set_loss(header.metrics.loss);
  metrics.set_spread(header.metrics.spread);
  metrics.set_seconds(header.metrics.seconds);
  metrics.set_steps(header.metrics.steps);
  for (const Contribution& each : header.contributors) {
    v1::Contributor& contributor = *wire.add_contributors();
    contributor.set_node(each.node);
    contributor.set_sample_count(each.sample_count);
  }
  return wire;
}

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
    const auto identity = wire::Bytes32FromWire("earlier_models", model);
    if (!identity.ok()) return absl::DataLossError(identity.status().message());
    snapshot.earlier_models.push_back(*identity);
  }
  if (!stored.has_open()) return snapshot;
  if (stored.open().step() > static_cast<std::uint32_t>(RoundStep::kClosing)) {
    return absl::DataLossError("the store's run is at a step that does not exist");
  }
  snapshot.open.emplace();
  snapshot.open->round = stored.round();
  for (const v1::AskedNode& each : stored.open().asked()) {
    snapshot.open->asked.push_back({each.node(), each.weight(), each.sample_count(), each.partial_sums()});
  }
  snapshot.open->fixed_point = {stored.open().fraction_bits(), stored.open().bound()};
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
