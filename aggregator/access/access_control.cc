#include "aggregator/access/access_control.h"

#include <spdlog/spdlog.h>

namespace tributary::access {
namespace {

constexpr std::array<const char*, kCallFaults> kNames = {"role", "refused", "nameless", "unknown_call",
                                                         "revoked"};

CallFault FaultOf(const AccessPolicy& policy, const absl::Status& refusal, const std::string& name) {
  if (absl::IsUnimplemented(refusal)) return CallFault::kUnknownCall;
  if (name.empty()) return CallFault::kNameless;
  return policy.Refuses(name) ? CallFault::kRefused : CallFault::kRole;
}

}  // namespace

absl::Status AccessControl::Admit(std::string_view path, const std::string& name) {
  const std::shared_ptr<const AccessPolicy> policy = this->policy();
  absl::Status status = policy->CheckCall(path, name);
  if (status.ok()) return status;
  ++refused_[static_cast<std::size_t>(FaultOf(*policy, status, name))];
  // A newer client may ask for a call that this release does not have.
  if (absl::IsUnimplemented(status)) return status;
  if (const auto more = lines_.Admit(clock_.SteadyNs())) {
    spdlog::warn("call refused: {}{}", std::string(status.message()), *more);
  }
  return status;
}

void AccessControl::Collect(runtime::Reading& reading) const {
  for (std::size_t i = 0; i < kCallFaults; ++i) {
    reading.Counter("tributary_calls_refused_total",
                    "Calls refused or ended because the certificate's name may not make them, by reason.",
                    {{"reason", kNames[i]}}, refused_[i].load());
  }
}

}  // namespace tributary::access
