// The policy and the list of revoked certificates in force, and what was refused by them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "aggregator/access/access_policy.h"
#include "aggregator/access/certificate_ids.h"
#include "aggregator/access/peer.h"
#include "aggregator/access/refused_calls.h"
#include "core/config/revocation_list.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::access {

enum class CallFault : std::uint8_t {
  kRole,         // the name lacks the role that the call takes
  kRefused,      // the name is in `refused`
  kNameless,     // the certificate has no common name
  kUnknownCall,  // no service has this call
  kRevoked,      // an open call was ended: a reload or a list took its right
  kCertificate,  // the certificate is on the list of revoked ones
  kUnknown,      // HTTP: neither certificate nor token nor session, and the call takes one
  kToken,        // HTTP: the token is not known, was revoked, or has expired
  kOrigin,       // HTTP: a page of another site made a browser send it
  kAttempts,     // HTTP: the address has shown too many tokens that are no good
  kIdentity,     // it speaks for a node that is not the certificate's
};
inline constexpr std::size_t kCallFaults = 11;

// Thread-safe. A call is judged once, when it begins, and again after a change of the policy.
class AccessControl {
 public:
  // The clock outlives it.
  AccessControl(AccessPolicy policy, const runtime::Clock& clock)
      : clock_(clock), policy_(std::make_shared<const AccessPolicy>(std::move(policy))) {}

  std::shared_ptr<const AccessPolicy> policy() const {
    const runtime::MutexLock lock(mutex_);
    return policy_;
  }
  void set_policy(AccessPolicy policy) {
    auto next = std::make_shared<const AccessPolicy>(std::move(policy));
    const runtime::MutexLock lock(mutex_);
    policy_.swap(next);
    ++changes_;
  }
  // What it lists may make no call, whatever the policy says.
  void set_revoked(std::shared_ptr<const config::RevocationList> revoked) {
    const runtime::MutexLock lock(mutex_);
    revoked_.swap(revoked);
    ++changes_;
  }
  // How often the policy or the list was set: whoever keeps calls open compares it to the number that it has
  // seen.
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  // PermissionDenied, with what to do, for a revoked certificate; else as AccessPolicy::CheckCall.
  absl::Status CheckCall(std::string_view path, const Peer& peer) const;
  // PermissionDenied, with what to do, if the certificate is revoked.
  absl::Status CheckCertificate(const Peer& peer) const;
  // As CheckCall; counts a refusal and logs it at a limited rate.
  absl::Status Admit(std::string_view path, const Peer& peer);
  // Whether the peer may be a child aggregator, by the list and the policy: as CheckCall.
  absl::Status CheckChild(const Peer& peer) const;
  // The same; counts a refusal and logs it at a limited rate.
  absl::Status AdmitChild(const Peer& peer);
  // PermissionDenied unless the peer is that node; counts a refusal and logs it at a limited rate.
  absl::Status AdmitAs(std::string_view node, const Peer& peer);
  // Counts a refusal that somebody else has decided, logs it at a limited rate, and gives it back.
  absl::Status Refuse(CallFault fault, absl::Status refusal);
  // Call ten times a second: the audit log (null: none) gets the calls that Admit, AdmitChild and
  // AdmitAs have refused, by the minute. `all`: before the log is closed.
  void TellRefused(AuditLog* audit, bool all = false) { calls_.Tell(audit, clock_.SteadyNs(), all); }
  // Counts a refusal that is not logged.
  void Count(CallFault fault) { ++refused_[static_cast<std::size_t>(fault)]; }
  void CountRevoked() { Count(CallFault::kRevoked); }

  CertificateIds& certificates() { return certificates_; }

  // The counts, as metrics.
  void Collect(runtime::Reading& reading) const;

 private:
  // Judges a call; `fault` says why it is refused.
  absl::Status Judge(std::string_view path, const Peer& peer, CallFault& fault) const;
  absl::Status RefuseCall(std::string_view method, const Peer& peer, CallFault fault, absl::Status refusal);

  const runtime::Clock& clock_;
  CertificateIds certificates_;
  mutable runtime::Mutex mutex_;
  std::shared_ptr<const AccessPolicy> policy_ GUARDED_BY(mutex_);
  std::shared_ptr<const config::RevocationList> revoked_ GUARDED_BY(mutex_);  // null: none
  std::atomic<std::uint64_t> changes_ = 0;
  std::array<std::atomic<std::uint64_t>, kCallFaults> refused_ = {};
  RefusedCalls calls_;
  runtime::LogLimit lines_{20, 1'000'000'000};
};

}  // namespace tributary::access
