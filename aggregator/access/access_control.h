// The policy in force, and what was refused by it.
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
  kRevoked,      // an open call was ended: a reload took its right
};
inline constexpr std::size_t kCallFaults = 5;

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
  // How often the policy was set: whoever keeps calls open compares it to the number that it has seen.
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  // As AccessPolicy::CheckCall; counts a refusal and logs it at a limited rate.
  absl::Status Admit(std::string_view path, const std::string& name);
  void CountRevoked() { ++refused_[static_cast<std::size_t>(CallFault::kRevoked)]; }

  // The counts, as metrics.
  void Collect(runtime::Reading& reading) const;

 private:
  const runtime::Clock& clock_;
  mutable runtime::Mutex mutex_;
  std::shared_ptr<const AccessPolicy> policy_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> changes_ = 0;
  std::array<std::atomic<std::uint64_t>, kCallFaults> refused_ = {};
  runtime::LogLimit lines_{20, 1'000'000'000};
};

}  // namespace tributary::access
