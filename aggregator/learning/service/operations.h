// What operators do to runs, by gRPC and by HTTP alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "aggregator/access/audit_log.h"
#include "aggregator/learning/service/coordinator.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// Any thread. Each returns at once; `done` is called on the coordinator's thread after the change is in the
// store, with the run as it is then. Whatever comes of it is in the audit log. Errors: those of Coordinator.
class Operations {
 public:
  using Done = std::function<void(absl::StatusOr<v1::Run>)>;

  // Both outlive it and what it was asked for. `audit`: null for none.
  explicit Operations(Coordinator& coordinator, access::AuditLog* audit = nullptr)
      : coordinator_(coordinator), audit_(audit) {}

  void Start(access::Caller caller, std::string config, std::string model, Done done) const;
  // Counts and notes a start that did not come so far: its configuration, or its model, was refused.
  void RefuseStart(const access::Caller& caller, std::string_view config, const absl::Status& refusal) const;
  void Pause(access::Caller caller, const std::string& run, Done done) const;
  void Resume(access::Caller caller, const std::string& run, Done done) const;
  void Stop(access::Caller caller, const std::string& run, Done done) const;
  // With the run as it was.
  void Delete(access::Caller caller, const std::string& run, Done done) const;
  void RollBack(access::Caller caller, const std::string& run, std::uint32_t round, Done done) const;

  Coordinator& coordinator() const { return coordinator_; }

 private:
  using Change = std::function<absl::Status(Run&)>;
  void ChangeRun(access::Caller caller, std::string action, const std::string& run, std::string subject,
                 Change change, Done done) const;
  void Note(const access::Caller& caller, const std::string& action, const std::string& subject,
            const absl::Status& outcome) const;

  Coordinator& coordinator_;
  access::AuditLog* const audit_;
};

}  // namespace tributary::learning
