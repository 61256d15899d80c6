#include "aggregator/server/admission.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/escaping.h"

namespace tributary::server {
namespace {

std::string Digest(const std::string& sha256) {
  return sha256.empty() ? "none" : absl::BytesToHexString(sha256);
}

}  // namespace

std::variant<Admission, StreamRefusal> Admit(const v1::Hello& hello,
                                             const std::optional<std::string>& certificate_name,
                                             const SiteTable& sites, publish::Fleet& fleet) {
  const absl::StatusOr<wire::ReportingProcess> process = wire::HelloFromWire(hello);
  if (!process.ok()) return StreamRefusal{StreamFault::kMalformed, process.status()};
  if (certificate_name && *certificate_name != process->node) {
    return StreamRefusal{StreamFault::kIdentityDiffers,
                         absl::PermissionDeniedError(fmt::format(
                             "hello.node: \"{}\" reports with the certificate of \"{}\"; they must be equal",
                             process->node, *certificate_name))};
  }
  Site* site = sites.Find(process->site);
  if (site == nullptr) {
    return StreamRefusal{StreamFault::kUnknownSite, publish::UnknownSite(process->site, sites.names())};
  }
  const fusion::SiteConfig& config = site->engine().config();
  if (process->slot != config.slot) {
    // With another length the same epoch names another time: no frame of such a node could match its slot.
    return StreamRefusal{
        StreamFault::kSlotDiffers,
        absl::FailedPreconditionError(fmt::format(
            "hello.slot_ns: node \"{}\" counts slots of {}, site \"{}\" of {}; set slot_ms to the same "
            "value in the configuration of both",
            process->node, process->slot.Text(), config.name, config.slot.Text()))};
  }
  const std::string expected_model = site->model_sha256();
  if (!expected_model.empty() && expected_model != process->model.sha256) {
    return StreamRefusal{
        StreamFault::kModelDiffers,
        absl::FailedPreconditionError(fmt::format(
            "hello.model.sha256: model \"{}\" version \"{}\" has the digest {}, site \"{}\" runs {}",
            process->model.name, process->model.version, Digest(process->model.sha256), config.name,
            Digest(expected_model)))};
  }
  if (absl::Status status = fleet.CheckSourcesFree(*process); !status.ok()) {
    return StreamRefusal{StreamFault::kSourceTaken, status};
  }

  Admission admission{.site = site, .node = process->node};
  for (const wire::ReportingSource& source : process->sources) {
    const absl::StatusOr<fusion::SourceHandle> handle =
        site->engine().Join({source.name, source.dimension, source.leaves});
    if (!handle.ok()) {
      const absl::StatusCode code = handle.status().code();
      return StreamRefusal{
          code == absl::StatusCode::kResourceExhausted ? StreamFault::kTooMany : StreamFault::kUnknownLeaf,
          absl::Status(code, fmt::format("hello.sources: source \"{}\": {}", source.name,
                                         std::string(handle.status().message())))};
    }
    admission.sources.push_back({*handle, {source.dimension, source.leaves.size(), config.max_subjects}});
  }
  absl::StatusOr<publish::Fleet::Membership> membership = fleet.Join(*process);
  if (!membership.ok()) return StreamRefusal{StreamFault::kTooMany, membership.status()};
  admission.membership = *std::move(membership);
  return admission;
}

}  // namespace tributary::server
