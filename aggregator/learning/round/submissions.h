// What nodes send in answer to their tasks: which updates count, and who declines.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "aggregator/learning/round/admission.h"
#include "aggregator/learning/round/run_state.h"

namespace tributary::learning {

struct Acceptance {
  Admission admission;
  RunOutcome outcome;
};

struct Declined {
  bool news = false;
  RunOutcome outcome;
};

// Acts on the state of RunRules, with its costs and threads.
class Submissions {
 public:
  explicit Submissions(RunState& run) : run_(run) {}

  // Before the first chunk. kGo reserves the node's place until Accept or Withdraw.
  Admission Admit(const v1::UpdateHeader& header, std::int64_t now_ns);
  // After the last chunk; what was admitted may have become stale meanwhile and is then refused.
  Acceptance Accept(const v1::UpdateHeader& header, std::int64_t now_ns);
  // A submission that was admitted broke off, or its contents were refused for that reason, which is counted.
  // The caller takes what it had added off the sum, unless the sum has been started afresh since.
  void Withdraw(const v1::UpdateHeader& header, std::optional<v1::SubmitRefusal> reason = std::nullopt);

  // The node does not do its part of the round (0: the one under way), and the round goes on without it. If
  // it says for_good, it is not asked again before it joins with another declaration or boot_id. Errors:
  // FailedPrecondition unless it was asked for that, as the process that it is now.
  absl::StatusOr<Declined> Decline(const v1::DeclineTaskRequest& decline, std::int64_t now_ns);

 private:
  bool AlreadyAccepted(const v1::UpdateHeader& header) const;
  // kGo: the header may be taken.
  Admission Judge(const v1::UpdateHeader& header, std::int64_t now_ns) const;
  void CountRefusal(const v1::UpdateHeader& header, const Admission& refusal);

  RunState& run_;
};

}  // namespace tributary::learning
