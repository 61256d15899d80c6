#include "core/wire/hello.h"

#include <fmt/format.h>

#include <cstring>
#include <random>
#include <set>

#include "core/estimate/categorical.h"
#include "core/status/macros.h"
#include "core/wire/fields.h"

namespace tributary::wire {
namespace {

constexpr std::size_t kBootIdBytes = 16;
constexpr std::size_t kMaxNameBytes = 128;
constexpr int kMaxSources = 256;
constexpr int kMaxLeaves = 256;

absl::Status CheckCount(std::string_view field, int count, int max) {
  if (count >= 1 && count <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: {} given, expected 1 to {}", field, count, max));
}

absl::Status CheckClasses(std::string_view field, const v1::Source& source) {
  const auto classes = static_cast<std::size_t>(source.classes_size());
  if (classes < estimate::kLeastClasses || classes > estimate::kMostClasses) {
    return absl::InvalidArgumentError(fmt::format("{}.classes: {} given, expected {} to {}", field, classes,
                                                  estimate::kLeastClasses, estimate::kMostClasses));
  }
  if (source.dimension() != 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}.dimension: {}, expected 0 with classes", field, source.dimension()));
  }
  return CheckNames(fmt::format("{}.classes", field), source.classes());
}

absl::Status CheckSource(std::string_view field, const v1::Source& source) {
  RETURN_IF_ERROR(CheckName(fmt::format("{}.name", field), source.name()));
  if (source.classes_size() > 0) {
    RETURN_IF_ERROR(CheckClasses(field, source));
  } else if (source.dimension() < 1 || source.dimension() > 3) {
    return absl::InvalidArgumentError(
        fmt::format("{}.dimension: {}, expected 1, 2 or 3", field, source.dimension()));
  }
  const std::string leaves = fmt::format("{}.leaves", field);
  RETURN_IF_ERROR(CheckCount(leaves, source.leaves_size(), kMaxLeaves));
  return CheckNames(leaves, source.leaves());
}

}  // namespace

std::string NewBootId() {
  std::random_device random;  // the kernel's generator
  std::string id(kBootIdBytes, '\0');
  for (std::size_t i = 0; i < id.size(); i += sizeof(std::uint32_t)) {
    const std::uint32_t word = random();
    std::memcpy(id.data() + i, &word, sizeof word);
  }
  return id;
}

void AddSource(v1::Hello& hello, const std::string& name, std::uint32_t dimension,
               const std::vector<std::string>& leaves) {
  v1::Source& source = *hello.add_sources();
  source.set_name(name);
  source.set_dimension(dimension);
  source.mutable_leaves()->Assign(leaves.begin(), leaves.end());
}

void AddClassifier(v1::Hello& hello, const std::string& name, const std::vector<std::string>& leaves,
                   const std::vector<std::string>& classes, const std::vector<double>& prior) {
  AddSource(hello, name, 0, leaves);
  v1::Source& source = *hello.mutable_sources()->rbegin();
  source.mutable_classes()->Assign(classes.begin(), classes.end());
  for (const double each : prior) source.add_prior(static_cast<float>(each));
}

absl::StatusOr<estimate::SlotLength> CheckHello(const v1::Hello& hello) {
  RETURN_IF_ERROR(CheckName("hello.site", hello.site()));
  RETURN_IF_ERROR(CheckName("hello.node", hello.node()));
  RETURN_IF_ERROR(CheckBootId("hello.boot_id", hello.boot_id()));
  RETURN_IF_ERROR(CheckCount("hello.sources", hello.sources_size(), kMaxSources));
  std::set<std::string_view> names;
  for (const v1::Source& source : hello.sources()) {
    const std::string field = fmt::format("hello.sources[{}]", names.size());
    RETURN_IF_ERROR(CheckSource(field, source));
    if (!names.insert(source.name()).second) {
      return absl::InvalidArgumentError(fmt::format("{}.name: \"{}\" is given twice", field, source.name()));
    }
  }
  const v1::ModelIdentity& model = hello.model();
  if (!model.sha256().empty()) {
    RETURN_IF_ERROR(Bytes32FromWire("hello.model.sha256", model.sha256()).status());
  }
  if (model.name().size() > kMaxNameBytes || model.version().size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        fmt::format("hello.model: name and version may have {} bytes each", kMaxNameBytes));
  }
  return SlotLengthFromWire("hello.slot_ns", hello.slot_ns());
}

absl::Status CheckSlotOfAnswer(const v1::ReportResponse& answer, estimate::SlotLength own) {
  ASSIGN_OR_RETURN(const estimate::SlotLength theirs, SlotLengthFromWire("slot_ns", answer.slot_ns()));
  if (theirs == own) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("slot_ms: this node counts slots of {}, the aggregator of {}{}", own.Text(), theirs.Text(),
                  answer.slot_ns() == 0 ? ", the only length that it knows" : ""));
}

absl::StatusOr<estimate::SlotLength> SlotLengthFromWire(std::string_view field, std::uint64_t slot_ns) {
  if (slot_ns == 0) return estimate::SlotLength();
  const std::optional<estimate::SlotLength> slot = estimate::SlotLength::FromNs(slot_ns);
  if (slot) return *slot;
  return absl::InvalidArgumentError(fmt::format("{}: {}, expected {} to {}", field, slot_ns,
                                                estimate::SlotLength::kShortestNs,
                                                estimate::SlotLength::kLongestNs));
}

}  // namespace tributary::wire
