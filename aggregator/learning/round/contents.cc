#include "aggregator/learning/round/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::learning {

std::optional<Admission> RefuseContents(const SubmissionHeader& header, const RunConfig& config,
                                        const ModelVersions& versions, std::size_t staleness,
                                        bool partial_sums) {
  const ModelFacts& model = versions.present();
  if (header.schema != model.schema) {
    return Admission::Refused(SubmissionRefusal::kSchema,
                              fmt::format("schema {}, this run's is {}", parameters::HexOf(header.schema),
                                          parameters::HexOf(model.schema)));
  }
  if (header.element_count != model.element_count) {
    return Admission::Refused(
        SubmissionRefusal::kSchema,
        fmt::format("{} elements, the model has {}", header.element_count, model.element_count));
  }
  const parameters::Sha256& base = versions.Before(staleness);
  if (header.base_model != base) {
    return Admission::Refused(
        SubmissionRefusal::kBaseModel,
        fmt::format("the update is the difference to {}, round {} starts from {}",
                    parameters::HexOf(header.base_model), header.round, parameters::HexOf(base)));
  }
  const bool partial = !header.contributors.empty();
  if (partial != partial_sums) {
    return Admission::Refused(SubmissionRefusal::kContributors,
                              fmt::format("{} had {} that its updates are partial sums, this one is{}",
                                          header.node, partial ? "not said" : "said", partial ? "" : " not"));
  }
  const bool fixed = header.encoding == parameters::UpdateEncoding::kFixed32;
  if (fixed != (partial || config.privacy.secure_aggregation)) {
    return Admission::Refused(
        SubmissionRefusal::kEncoding,
        fmt::format("{}: masked updates and partial sums come as fixed32, others do not",
                    parameters::UpdateEncodingName(header.encoding)));
  }
  if (header.sample_count == 0 || header.sample_count > config.max_samples) {
    return Admission::Refused(
        SubmissionRefusal::kSampleCount,
        fmt::format("{} samples, expected 1 to {}", header.sample_count, config.max_samples));
  }
  return std::nullopt;
}

std::optional<Admission> RefuseContributors(const SubmissionHeader& header,
                                            const std::function<bool(std::string_view)>& counts_elsewhere) {
  std::set<std::string_view> seen;
  std::vector<std::string> elsewhere;
  std::uint64_t samples = 0;
  for (const Contribution& contribution : header.contributors) {
    const std::string& node = contribution.node;
    if (node.empty() || node == header.node || !seen.insert(node).second) {
      return Admission::Refused(SubmissionRefusal::kContributors,
                                fmt::format("\"{}\" is empty, named twice or the sender itself", node));
    }
    if (counts_elsewhere(node)) elsewhere.push_back(node);
    if (contribution.sample_count == 0 || contribution.sample_count > header.sample_count - samples) {
      return Admission::Refused(SubmissionRefusal::kContributors,
                                fmt::format("the samples of {} do not fit the sum", node));
    }
    samples += contribution.sample_count;
  }
  if (samples != header.sample_count) {
    return Admission::Refused(
        SubmissionRefusal::kContributors,
        fmt::format("{} samples, the contributors have {}", header.sample_count, samples));
  }
  if (elsewhere.empty()) return std::nullopt;
  Admission refusal =
      Admission::Refused(SubmissionRefusal::kContributors,
                         fmt::format("{} takes part itself or has been counted already, as {} others of {}",
                                     elsewhere.front(), elsewhere.size() - 1, header.contributors.size()));
  if (elsewhere.size() == header.contributors.size()) return refusal;  // nothing would be left
  elsewhere.resize(std::min(elsewhere.size(), Admission::kNamed));
  refusal.counted_elsewhere = std::move(elsewhere);
  return refusal;
}

}  // namespace tributary::learning
