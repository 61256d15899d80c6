#include "core/wire/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tributary::wire {
namespace {

constexpr std::size_t kMaxNameBytes = 128;
constexpr int kMaxSources = 256;
constexpr int kMaxLeaves = 256;
constexpr std::size_t kSha256Bytes = 32;

std::size_t ContributorWords(std::size_t leaves) { return (leaves + 63) / 64; }

template <typename Values, typename Field>
void CopyToWire(const Values& values, Field* field) {
  field->Clear();
  field->Add(values.begin(), values.end());
}

template <typename Field, typename Values>
void CopyFromWire(const Field& field, Values& values) {
  values.assign(field.begin(), field.end());
}

std::optional<std::string> LengthFault(std::string_view field, std::size_t found, std::size_t subjects,
                                       std::size_t each) {
  if (found == subjects * each) return std::nullopt;
  return fmt::format("{}: {} values, expected {} ({} subjects of {} each)", field, found, subjects * each,
                     subjects, each);
}

// Bits of leaves beyond those of the source.
std::optional<std::string> ContributorFault(const v1::Frame& wire, std::size_t leaves) {
  const std::size_t words = ContributorWords(leaves);
  if (leaves % 64 == 0) return std::nullopt;
  const std::uint64_t beyond = ~std::uint64_t{0} << (leaves % 64);
  for (std::size_t last = words - 1; last < static_cast<std::size_t>(wire.contributors_size());
       last += words) {
    if ((wire.contributors(static_cast<int>(last)) & beyond) != 0) {
      return fmt::format(
          "contributors: subject at index {} names a leaf beyond the {} that the source declared",
          last / words, leaves);
    }
  }
  return std::nullopt;
}

absl::Status CheckName(std::string_view field, std::string_view name) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.empty()) return absl::InvalidArgumentError(fmt::format("{}: must not be empty", field));
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} bytes, allowed are {}", field, name.size(), kMaxNameBytes));
  }
  if (std::any_of(name.begin(), name.end(), is_control)) {
    return absl::InvalidArgumentError(fmt::format("{}: control characters are not allowed", field));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(std::string_view field, int count, int max) {
  if (count >= 1 && count <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: {} given, expected 1 to {}", field, count, max));
}

absl::StatusOr<ReportingSource> SourceFromWire(const v1::Source& wire, int index) {
  const std::string field = fmt::format("hello.sources[{}]", index);
  if (absl::Status status = CheckName(fmt::format("{}.name", field), wire.name()); !status.ok())
    return status;
  if (wire.dimension() < 1 || wire.dimension() > 3) {
    return absl::InvalidArgumentError(
        fmt::format("{}.dimension: {}, expected 1, 2 or 3", field, wire.dimension()));
  }
  if (absl::Status status = CheckCount(fmt::format("{}.leaves", field), wire.leaves_size(), kMaxLeaves);
      !status.ok()) {
    return status;
  }
  std::set<std::string_view> names;
  for (const std::string& leaf : wire.leaves()) {
    if (absl::Status status = CheckName(fmt::format("{}.leaves", field), leaf); !status.ok()) return status;
    if (!names.insert(leaf).second) {
      return absl::InvalidArgumentError(fmt::format("{}.leaves: \"{}\" is listed twice", field, leaf));
    }
  }
  return ReportingSource{wire.name(), wire.dimension(), {wire.leaves().begin(), wire.leaves().end()}};
}

absl::Status SlotFault(std::string_view message) {
  return absl::DataLossError(fmt::format("fused slot: {}", message));
}

}  // namespace

void FrameToWire(const estimate::TupleFrame& frame, v1::Frame& wire) {
  wire.set_sequence(frame.sequence);
  wire.set_epoch(frame.epoch);
  wire.set_captured_unix_ns(frame.captured_unix_ns);
  wire.set_source(frame.source);
  wire.set_revision(frame.revision);
  CopyToWire(frame.subjects, wire.mutable_subjects());
  CopyToWire(frame.means, wire.mutable_means());
  CopyToWire(frame.cholesky, wire.mutable_cholesky());
  CopyToWire(frame.contributors, wire.mutable_contributors());
}

std::optional<WireFault> FrameFromWire(const v1::Frame& wire, const FrameLimits& limits,
                                       estimate::TupleFrame& frame) {
  const auto n = static_cast<std::size_t>(wire.subjects_size());
  if (n > limits.max_subjects) {
    return WireFault{v1::REFUSAL_REASON_TOO_LARGE,
                     fmt::format("subjects: {} in one frame, allowed are {}", n, limits.max_subjects)};
  }
  std::optional<std::string> fault =
      LengthFault("means", static_cast<std::size_t>(wire.means_size()), n, limits.dimension);
  if (!fault) {
    fault = LengthFault("cholesky", static_cast<std::size_t>(wire.cholesky_size()), n,
                        estimate::TriangleSize(limits.dimension));
  }
  if (!fault && wire.contributors_size() > 0) {
    fault = LengthFault("contributors", static_cast<std::size_t>(wire.contributors_size()), n,
                        ContributorWords(limits.leaves));
    if (!fault) fault = ContributorFault(wire, limits.leaves);
  }
  if (fault) return WireFault{v1::REFUSAL_REASON_SHAPE, *std::move(fault)};

  frame.sequence = wire.sequence();
  frame.epoch = wire.epoch();
  frame.captured_unix_ns = wire.captured_unix_ns();
  frame.source = wire.source();
  frame.revision = wire.revision();
  frame.dimension = limits.dimension;
  CopyFromWire(wire.subjects(), frame.subjects);
  CopyFromWire(wire.means(), frame.means);
  CopyFromWire(wire.cholesky(), frame.cholesky);
  CopyFromWire(wire.contributors(), frame.contributors);
  return std::nullopt;
}

v1::Hello HelloToWire(const ReportingProcess& process) {
  v1::Hello wire;
  wire.set_site(process.site);
  wire.set_node(process.node);
  wire.set_boot_id(process.boot_id.data(), process.boot_id.size());
  for (const ReportingSource& source : process.sources) {
    v1::Source& added = *wire.add_sources();
    added.set_name(source.name);
    added.set_dimension(source.dimension);
    for (const std::string& leaf : source.leaves) added.add_leaves(leaf);
  }
  wire.mutable_model()->set_name(process.model.name);
  wire.mutable_model()->set_version(process.model.version);
  wire.mutable_model()->set_sha256(process.model.sha256);
  wire.set_slot_ns(static_cast<std::uint64_t>(process.slot.ns()));
  return wire;
}

absl::StatusOr<ReportingProcess> HelloFromWire(const v1::Hello& wire) {
  ReportingProcess process;
  if (absl::Status status = CheckName("hello.site", wire.site()); !status.ok()) return status;
  if (absl::Status status = CheckName("hello.node", wire.node()); !status.ok()) return status;
  if (wire.boot_id().size() != process.boot_id.size()) {
    return absl::InvalidArgumentError(
        fmt::format("hello.boot_id: {} bytes, expected {}", wire.boot_id().size(), process.boot_id.size()));
  }
  if (absl::Status status = CheckCount("hello.sources", wire.sources_size(), kMaxSources); !status.ok())
    return status;
  std::set<std::string_view> names;
  for (int i = 0; i < wire.sources_size(); ++i) {
    absl::StatusOr<ReportingSource> source = SourceFromWire(wire.sources(i), i);
    if (!source.ok()) return source.status();
    if (!names.insert(wire.sources(i).name()).second) {
      return absl::InvalidArgumentError(
          fmt::format("hello.sources[{}].name: \"{}\" is given twice", i, source->name));
    }
    process.sources.push_back(*std::move(source));
  }
  const v1::ModelIdentity& model = wire.model();
  if (!model.sha256().empty() && model.sha256().size() != kSha256Bytes) {
    return absl::InvalidArgumentError(
        fmt::format("hello.model.sha256: {} bytes, expected {}", model.sha256().size(), kSha256Bytes));
  }
  if (model.name().size() > kMaxNameBytes || model.version().size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        fmt::format("hello.model: name and version may have {} bytes each", kMaxNameBytes));
  }
  const absl::StatusOr<estimate::SlotLength> slot = SlotLengthFromWire("hello.slot_ns", wire.slot_ns());
  if (!slot.ok()) return slot.status();
  process.slot = *slot;
  process.site = wire.site();
  process.node = wire.node();
  std::copy(wire.boot_id().begin(), wire.boot_id().end(), process.boot_id.begin());
  process.model = {model.name(), model.version(), model.sha256()};
  return process;
}

absl::StatusOr<estimate::SlotLength> SlotLengthFromWire(std::string_view field, std::uint64_t slot_ns) {
  if (slot_ns == 0) return estimate::SlotLength();
  const std::optional<estimate::SlotLength> slot = estimate::SlotLength::FromNs(slot_ns);
  if (slot) return *slot;
  return absl::InvalidArgumentError(fmt::format("{}: {}, expected {} to {}", field, slot_ns,
                                                estimate::SlotLength::kShortestNs,
                                                estimate::SlotLength::kLongestNs));
}

void SlotToWire(const estimate::FusedSlot& slot, v1::FusedSlot& wire) {
  wire.set_epoch(slot.epoch);
  wire.set_captured_unix_ns(slot.captured_unix_ns);
  wire.set_fused_unix_ns(slot.fused_unix_ns);
  wire.set_revision(slot.revision);
  wire.set_dimension(slot.dimension);
  CopyToWire(slot.subjects, wire.mutable_subjects());
  CopyToWire(slot.means, wire.mutable_means());
  CopyToWire(slot.cholesky, wire.mutable_cholesky());
  CopyToWire(slot.contributors, wire.mutable_contributors());
  CopyToWire(slot.consistency, wire.mutable_consistency());
  CopyToWire(slot.velocities, wire.mutable_velocities());
}

v1::WatchResponse SlotMessage(const std::string& site, const estimate::FusedSlot& slot,
                              estimate::SlotLength length, const std::vector<std::string>& leaves,
                              std::uint64_t skipped_slots) {
  v1::WatchResponse response;
  SlotToWire(slot, *response.mutable_slot());
  response.set_skipped_slots(skipped_slots);
  response.mutable_leaves()->Assign(leaves.begin(), leaves.end());
  response.set_slot_ns(static_cast<std::uint64_t>(length.ns()));
  response.set_site(site);
  return response;
}

absl::Status SlotFromWire(const v1::WatchResponse& wire, std::size_t leaves, WatchedSlot& slot) {
  const v1::FusedSlot& fused = wire.slot();
  const auto n = static_cast<std::size_t>(fused.subjects_size());
  const std::size_t d = fused.dimension();
  if (d < 1 || d > 3) return SlotFault(fmt::format("dimension: {}, expected 1, 2 or 3", d));
  const std::size_t words = ContributorWords(leaves);
  const auto check = [n](std::string_view field, int found, std::size_t each) {
    return LengthFault(field, static_cast<std::size_t>(found), n, each);
  };
  std::optional<std::string> fault = check("means", fused.means_size(), d);
  if (!fault) fault = check("cholesky", fused.cholesky_size(), estimate::TriangleSize(d));
  if (!fault) fault = check("contributors", fused.contributors_size(), words);
  if (!fault) fault = check("consistency", fused.consistency_size(), 1);
  if (!fault && fused.velocities_size() > 0) fault = check("velocities", fused.velocities_size(), d);
  if (fault) return SlotFault(*fault);

  slot.epoch = fused.epoch();
  slot.captured_unix_ns = fused.captured_unix_ns();
  slot.fused_unix_ns = fused.fused_unix_ns();
  slot.revision = fused.revision();
  slot.dimension = fused.dimension();
  slot.contributor_words = static_cast<std::uint32_t>(words);
  slot.skipped_slots = wire.skipped_slots();
  CopyFromWire(fused.subjects(), slot.subjects);
  CopyFromWire(fused.means(), slot.means);
  CopyFromWire(fused.cholesky(), slot.cholesky);
  CopyFromWire(fused.contributors(), slot.contributors);
  CopyFromWire(fused.consistency(), slot.consistency);
  CopyFromWire(fused.velocities(), slot.velocities);
  return absl::OkStatus();
}

std::string_view RefusalReasonLabel(v1::RefusalReason reason) {
  switch (reason) {
    case v1::REFUSAL_REASON_SHAPE:
      return "shape";
    case v1::REFUSAL_REASON_NOT_FINITE:
      return "not_finite";
    case v1::REFUSAL_REASON_NOT_POSITIVE:
      return "not_positive";
    case v1::REFUSAL_REASON_UNKNOWN_SOURCE:
      return "unknown_source";
    case v1::REFUSAL_REASON_EPOCH_PAST:
      return "epoch_past";
    case v1::REFUSAL_REASON_EPOCH_FUTURE:
      return "epoch_future";
    case v1::REFUSAL_REASON_DUPLICATE:
      return "duplicate";
    case v1::REFUSAL_REASON_LATE:
      return "late";
    case v1::REFUSAL_REASON_GATED:
      return "gated";
    case v1::REFUSAL_REASON_TOO_LARGE:
      return "too_large";
    case v1::REFUSAL_REASON_DUPLICATE_SUBJECT:
      return "duplicate_subject";
    default:
      return "unspecified";
  }
}

}  // namespace tributary::wire
