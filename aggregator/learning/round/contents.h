// Whether the contents of a submission, as its header states them, fit the run. The round has its own rules.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "aggregator/learning/round/admission.h"
#include "aggregator/learning/round/model_versions.h"
#include "aggregator/learning/round/submission.h"
#include "core/learning/run_config.h"

namespace tributary::learning {

// `staleness`: by how many versions the update is behind; at most versions.earlier(). `partial_sums`: what
// the sender has declared. Null if the contents fit.
std::optional<Admission> RefuseContents(const SubmissionHeader& header, const RunConfig& config,
                                        const ModelVersions& versions, std::size_t staleness,
                                        bool partial_sums);

// Whether the contributors of a partial sum add up, and none of them counts elsewhere. Null if they may
// count.
std::optional<Admission> RefuseContributors(const SubmissionHeader& header,
                                            const std::function<bool(std::string_view)>& counts_elsewhere);

}  // namespace tributary::learning
