#include "aggregator/access/access_control.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tributary::access {
namespace {

constexpr std::array<const char*, kCallFaults> kNames = {"role",         "refused", "nameless",
                                                         "unknown_call", "revoked", "certificate_revoked"};

CallFault FaultOf(const AccessPolicy& policy, const absl::Status& refusal, const std::string& name) {
  if (absl::IsUnimplemented(refusal)) return CallFault::kUnknownCall;
  if (name.empty()) return CallFault::kNameless;
  return policy.Refuses(name) ? CallFault::kRefused : CallFault::kRole;
}

}  // namespace

absl::Status AccessControl::CheckCertificate(const Peer& peer) const {
  std::shared_ptr<const config::RevocationList> revoked;
  {
    const runtime::MutexLock lock(mutex_);
    revoked = revoked_;
  }
  if (revoked == nullptr || revoked->size() == 0) return absl::OkStatus();
  if (!peer.certificate.empty() && !revoked->Lists(peer.certificate)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("the certificate of \"{}\" is revoked: make another with `tributary certs --name {}`, and "
                  "copy it to that machine",
                  peer.name, peer.name));
}

absl::Status AccessControl::CheckCall(std::string_view path, const Peer& peer) const {
  if (absl::Status status = CheckCertificate(peer); !status.ok()) return status;
  return policy()->CheckCall(path, peer.name);
}

absl::Status AccessControl::Admit(std::string_view path, const Peer& peer) {
  absl::Status status = CheckCertificate(peer);
  if (!status.ok()) {
    ++refused_[static_cast<std::size_t>(CallFault::kCertificate)];
  } else {
    const std::shared_ptr<const AccessPolicy> policy = this->policy();
    status = policy->CheckCall(path, peer.name);
    if (status.ok()) return status;
    ++refused_[static_cast<std::size_t>(FaultOf(*policy, status, peer.name))];
  }
  // A newer client may ask for a call that this release does not have.
  if (absl::IsUnimplemented(status)) return status;
  if (const auto more = lines_.Admit(clock_.SteadyNs())) {
    spdlog::warn("call refused: {}{}", std::string(status.message()), *more);
  }
  return status;
}

void AccessControl::Collect(runtime::Reading& reading) const {
  for (std::size_t i = 0; i < kCallFaults; ++i) {
    reading.Counter(
        "tributary_calls_refused_total",
        "Calls refused or ended because the certificate or its name may not make them, by reason.",
        {{"reason", kNames[i]}}, refused_[i].load());
  }
}

}  // namespace tributary::access
