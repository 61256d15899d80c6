#include "aggregator/learning/run/messages.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/status/macros.h"
#include "core/wire/fields.h"

namespace tributary::learning {
namespace {

// Shown, never computed with. NaN and infinity must not reach a table or a metric.
double Shown(double value) { return std::isfinite(value) ? value : 0; }

}  // namespace

absl::Status CheckMessage(v1::UpdateHeader& header) {
  RETURN_IF_ERROR(wire::CheckName("header.node", header.node()));
  RETURN_IF_ERROR(wire::Bytes32FromWire("header.schema_sha256", header.schema_sha256()).status());
  RETURN_IF_ERROR(wire::Bytes32FromWire("header.base_model_sha256", header.base_model_sha256()).status());
  if (header.encoding() == v1::UPDATE_ENCODING_UNSPECIFIED ||
      !v1::UpdateEncoding_IsValid(header.encoding())) {
    return absl::InvalidArgumentError(
        fmt::format("header.encoding: {} is not known here", static_cast<int>(header.encoding())));
  }
  if (std::cmp_greater(header.contributors_size(), kMaxContributors)) {
    return absl::InvalidArgumentError(fmt::format("header.contributors: {} of them, at most {} are allowed",
                                                  header.contributors_size(), kMaxContributors));
  }
  for (const v1::Contributor& each : header.contributors()) {
    RETURN_IF_ERROR(wire::CheckName("header.contributors.node", each.node()));
  }
  v1::UpdateMetrics& metrics = *header.mutable_metrics();
  metrics.set_loss(Shown(metrics.loss()));
  // What is no number was not measured.
  if (!std::isfinite(metrics.spread())) metrics.clear_spread();
  const double accuracy = metrics.held_out_accuracy();
  if (!(accuracy >= 0 && accuracy <= 1)) metrics.clear_held_out_accuracy();
  metrics.set_seconds(Shown(metrics.seconds()));
  header.clear_run();
  header.clear_boot_id();
  header.DiscardUnknownFields();
  return absl::OkStatus();
}

absl::StatusOr<v1::StoredUpdate> ParseUpdate(std::string_view bytes) {
  ASSIGN_OR_RETURN(auto update, ParseStored<v1::StoredUpdate>(bytes, "update"));
  if (absl::Status status = CheckMessage(*update.mutable_header()); !status.ok()) {
    return absl::DataLossError(status.message());
  }
  return update;
}

}  // namespace tributary::learning
