#include "aggregator/fusion/categorical_fusion.h"

#include <algorithm>
#include <cmath>

#include "aggregator/fusion/categorical_subject.h"
#include "core/estimate/categorical.h"
#include "core/estimate/surprise.h"

namespace tributary::fusion {

CategoricalFusion::CategoricalFusion(const SiteConfig& site)
    : classes_(site.classes.size()),
      log_prior_(estimate::LogPrior(site.prior, classes_)),
      monitor_(1),
      rows_(site),
      fused_(classes_),
      others_(classes_) {
  Configure(site.tuning);
}

void CategoricalFusion::Configure(const FusionTuning& tuning) {
  method_ = tuning.method;
  gate_.reset();
  if (tuning.gate_probability) gate_ = estimate::LogSurpriseGate(*tuning.gate_probability);
}

bool CategoricalFusion::Load(const estimate::TupleFrame& frame, const SourceEntry& source, SlotInput& input) {
  input.evidence.resize(frame.log_probabilities.size());
  for (std::size_t row = 0; row < frame.subjects.size(); ++row) {
    const std::span<const float> tuple(&frame.log_probabilities[row * classes_], classes_);
    if (estimate::FaultOf<float>(tuple)) return false;
    const std::span<float> evidence(&input.evidence[row * classes_], classes_);
    estimate::ToEvidence<float>(tuple, source.log_prior, input.LeavesOf(row).count(), evidence);
  }
  return true;
}

const SlotTally& CategoricalFusion::Fuse(std::span<SlotInput> inputs, estimate::FusedSlot& out) {
  tally_.Clear();
  rows_.LayOut(inputs, out);
  out.set_shape({.dimension = 0, .classes = static_cast<std::uint32_t>(classes_)});
  out.means.clear();
  out.cholesky.clear();
  out.velocities.clear();
  out.log_probabilities.resize(rows_.size() * classes_);
  const bool independent = Independent(inputs, method_);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!independent || !FuseIndependent(inputs, row, out)) FuseRow(inputs, row, out);
  }
  for (SlotInput& input : inputs) input.fused_before = true;
  return tally_;
}

bool CategoricalFusion::FuseIndependent(std::span<const SlotInput> inputs, std::size_t row,
                                        estimate::FusedSlot& out) {
  std::ranges::copy(log_prior_, fused_.begin());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t k = rows_.Of(i, row);
    if (k != SlotRows::kMissing) estimate::AddEvidence(EvidenceOf(inputs[i], k), 1, fused_);
  }
  const std::size_t present = rows_.CountOf(inputs, row);
  double sum = 0;
  if (present > 1) {
    innovations_.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::uint32_t k = rows_.Of(i, row);
      if (k == SlotRows::kMissing) continue;
      const std::span<const float> evidence = EvidenceOf(inputs[i], k);
      std::ranges::copy(fused_, others_.begin());
      estimate::AddEvidence(evidence, -1, others_);
      innovations_[i] = estimate::LogSurprise(evidence, log_prior_, others_);
      if (present > 2 && gate_ && innovations_[i] > *gate_) return false;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (rows_.Of(i, row) == SlotRows::kMissing) continue;
      const double surprise = monitor_.Bounded(std::exp(innovations_[i]));
      monitor_.Add(inputs[i].source, surprise, 1);
      sum += surprise;
    }
  }
  out.consistency[row] = present > 1 ? static_cast<float>(sum / static_cast<double>(present)) : 0.0f;
  estimate::Normalise(fused_);
  WriteProbabilities(row, out);
  return true;
}

void CategoricalFusion::FuseRow(std::span<const SlotInput> inputs, std::size_t row,
                                estimate::FusedSlot& out) {
  std::vector<CategoricalContribution> contributions;
  contributions.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t k = rows_.Of(i, row);
    if (k == SlotRows::kMissing) continue;
    contributions.push_back({.tuple = EvidenceOf(inputs[i], k),
                             .leaves = inputs[i].LeavesOf(k),
                             .source = inputs[i].source,
                             .input = i});
  }
  const ClassEstimate estimate = FuseClasses(contributions, log_prior_, method_, gate_, fused_);
  for (const CategoricalContribution& contribution : contributions) {
    if (contribution.innovation) {
      monitor_.Add(contribution.source, monitor_.Bounded(std::exp(*contribution.innovation)), 1);
    }
    tally_.Count(contribution, inputs[contribution.input], out.epoch, out.subjects[row]);
  }
  WriteLeaves(estimate.leaves, row, out);
  out.consistency[row] =
      estimate.judged > 1 ? static_cast<float>(estimate.surprise_sum / static_cast<double>(estimate.judged))
                          : 0.0f;
  WriteProbabilities(row, out);
}

void CategoricalFusion::Explain(std::span<const SlotInput> inputs, std::uint32_t subject,
                                const SourceTable& sources, estimate::SubjectTuples& to) const {
  std::vector<CategoricalContribution> contributions;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<std::size_t> k = inputs[i].RowOf(subject);
    if (!k) continue;
    contributions.push_back({.tuple = EvidenceOf(inputs[i], *k),
                             .leaves = inputs[i].LeavesOf(*k),
                             .source = inputs[i].source,
                             .input = i});
  }
  to.gate = gate_;
  std::vector<double> fused(classes_);
  if (!contributions.empty()) FuseClasses(contributions, log_prior_, method_, gate_, fused);
  for (const CategoricalContribution& contribution : contributions) {
    estimate::SourceTuple& tuple =
        to.tuples.emplace_back(Explained(contribution, inputs[contribution.input], sources));
    std::vector<double> alone = log_prior_;
    estimate::AddEvidence(contribution.tuple, 1, alone);
    estimate::Normalise(alone);
    tuple.log_probabilities.assign(alone.begin(), alone.end());
  }
}

void CategoricalFusion::WriteProbabilities(std::size_t row, estimate::FusedSlot& out) const {
  for (std::size_t c = 0; c < classes_; ++c) {
    out.log_probabilities[row * classes_ + c] = static_cast<float>(fused_[c]);
  }
}

}  // namespace tributary::fusion
