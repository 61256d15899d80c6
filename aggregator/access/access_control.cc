#include "aggregator/access/access_control.h"

#include <fmt/format.h>

#include <utility>

#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"

namespace tributary::access {
namespace {

constexpr std::array<const char*, kCallFaults> kNames = {
    "role",    "refused", "nameless", "unknown_call", "revoked", "certificate_revoked",
    "unknown", "token",   "origin",   "attempts",     "identity"};

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
      fmt::format("the certificate of \"{}\" is revoked: make another with `tributary certs --name {} --out "
                  "FOLDER`, with the folder that has the CA, and copy it to that machine",
                  peer.name, peer.name));
}

absl::Status AccessControl::CheckCall(std::string_view path, const Peer& peer) const {
  if (absl::Status status = CheckCertificate(peer); !status.ok()) return status;
  return policy()->CheckCall(path, peer.name);
}

absl::Status AccessControl::CheckChild(const Peer& peer) const {
  RETURN_IF_ERROR(CheckCertificate(peer));
  return policy()->CheckChild(peer.name);
}

absl::Status AccessControl::Judge(std::string_view path, const Peer& peer, CallFault& fault) const {
  fault = CallFault::kCertificate;
  RETURN_IF_ERROR(CheckCertificate(peer));
  const std::shared_ptr<const AccessPolicy> policy = this->policy();
  absl::Status status = policy->CheckCall(path, peer.name);
  if (!status.ok()) fault = FaultOf(*policy, status, peer.name);
  return status;
}

absl::Status AccessControl::Admit(std::string_view path, const Peer& peer) {
  CallFault fault{};
  absl::Status status = Judge(path, peer, fault);
  if (status.ok()) return status;
  // A peer chooses the name of a call that nobody serves.
  const std::string_view method = FindCall(path) == nullptr ? "unknown call" : NameOf(path);
  return RefuseCall(method, peer, fault, std::move(status));
}

absl::Status AccessControl::AdmitChild(const Peer& peer) {
  absl::Status status = CheckChild(peer);
  return status.ok() ? status : RefuseCall("partial sums", peer, CallFault::kRole, std::move(status));
}

absl::Status AccessControl::AdmitAs(std::string_view node, const Peer& peer) {
  if (peer.name == node) return absl::OkStatus();
  return RefuseCall("another's name", peer, CallFault::kIdentity,
                    absl::PermissionDeniedError(
                        fmt::format("node: \"{}\" calls with the certificate of \"{}\"; they must be equal",
                                    wire::PeerText(std::string(node)), peer.name)));
}

absl::Status AccessControl::RefuseCall(std::string_view method, const Peer& peer, CallFault fault,
                                       absl::Status refusal) {
  calls_.Count(peer.name, method, refusal, clock_.SteadyNs());
  return Refuse(fault, std::move(refusal));
}

absl::Status AccessControl::Refuse(CallFault fault, absl::Status refusal) {
  ++refused_[static_cast<std::size_t>(fault)];
  // A newer client may ask for a call that this release does not have.
  if (absl::IsUnimplemented(refusal)) return refusal;
  if (const auto more = lines_.Admit(clock_.SteadyNs())) {
    runtime::LogWarning("call refused: {}{}", std::string(refusal.message()), *more);
  }
  return refusal;
}

void AccessControl::Collect(runtime::Reading& reading) const {
  for (std::size_t i = 0; i < kCallFaults; ++i) {
    reading.Counter(
        "tributary_calls_refused_total",
        "Calls refused or ended because the caller, by certificate, token or session, may not make them, by "
        "reason.",
        {{"reason", kNames[i]}}, refused_[i].load());
  }
}

}  // namespace tributary::access
