#include "aggregator/fusion/gaussian_fusion.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "aggregator/fusion/frame_check.h"
#include "aggregator/fusion/gaussian_subject.h"
#include "core/estimate/consistency.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

template <int D>
estimate::Gaussian<D> TupleOf(const SlotInput& input, std::size_t row) {
  if constexpr (D == 2) {
    const estimate::TuplePlanes& planes = input.planes;
    const float mean[] = {planes.mean_x()[row], planes.mean_y()[row]};
    const float factor[] = {planes.l11()[row], planes.l21()[row], planes.l22()[row]};
    return estimate::Gaussian<D>::FromTuple(mean, factor);
  } else {
    return estimate::Gaussian<D>::FromTuple(&input.means[row * D],
                                            &input.cholesky[row * estimate::TriangleSize(D)]);
  }
}

// The reverse of FromTuple.
template <int D>
void WriteTuple(const estimate::Gaussian<D>& tuple, float* mean, float* factor) {
  for (int i = 0; i < D; ++i) {
    *mean++ = static_cast<float>(tuple.mean[i]);
    for (int j = 0; j <= i; ++j) *factor++ = static_cast<float>(tuple.cholesky(i, j));
  }
}

// `row_of` gives the row of an input's tuple; nothing: the input has none.
template <int D, class RowOf>
std::vector<GaussianContribution<D>> ContributionsOf(std::span<const SlotInput> inputs, RowOf row_of) {
  std::vector<GaussianContribution<D>> contributions;
  contributions.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<std::size_t> k = row_of(i);
    if (!k) continue;
    contributions.push_back({.tuple = TupleOf<D>(inputs[i], *k),
                             .leaves = inputs[i].LeavesOf(*k),
                             .source = inputs[i].source,
                             .input = i});
  }
  return contributions;
}

template <int D>
void WriteRow(const SubjectEstimate<D>& estimate, std::size_t row, estimate::FusedSlot& out) {
  WriteTuple<D>(estimate.tuple, &out.means[row * D], &out.cholesky[row * estimate::TriangleSize(D)]);
  WriteLeaves(estimate.leaves, row, out);
  out.consistency[row] =
      estimate.fused > 1
          ? static_cast<float>(estimate.squared_distance / static_cast<double>(D * (estimate.fused - 1)))
          : 0.0f;
}

}  // namespace

GaussianFusion::GaussianFusion(const SiteConfig& site)
    : dimension_(site.dimension), monitor_(site.dimension), rows_(site) {
  if (dimension_ == 2) calibration_.emplace(site);
  Configure(site.tuning);
}

void GaussianFusion::Configure(const FusionTuning& tuning) {
  method_ = tuning.method;
  if (calibration_) calibration_->Configure(tuning.calibration);
  gate_.reset();
  if (tuning.gate_probability)
    gate_ = estimate::ChiSquareQuantile(static_cast<int>(dimension_), *tuning.gate_probability);
}

bool GaussianFusion::Load(const estimate::TupleFrame& frame, const SourceEntry& source, SlotInput& input) {
  if (dimension_ == 2) {
    if (!input.planes.Load(frame.means, frame.cholesky)) return false;
    if (source.leaf_indices.size() == 1) calibration_->Correct(source.leaf_indices.front(), input.planes);
    return true;
  }
  input.means = frame.means;
  input.cholesky = frame.cholesky;
  return estimate::ValidTuples(dimension_, frame.means, frame.cholesky);
}

const SlotTally& GaussianFusion::Fuse(std::span<SlotInput> inputs, estimate::FusedSlot& out) {
  tally_.Clear();
  rows_.LayOut(inputs, out);
  out.set_shape({.dimension = dimension_, .classes = 0});
  out.means.resize(rows_.size() * dimension_);
  out.cholesky.resize(rows_.size() * estimate::TriangleSize(dimension_));
  out.log_probabilities.clear();
  out.velocities.clear();

  const bool batch = dimension_ == 2 && inputs.size() <= estimate::kMaxBatchSources;
  if (batch && Independent(inputs, method_)) {
    FuseBatch(inputs, out);
  } else if (dimension_ == 1) {
    FuseEach<1>(inputs, out);
  } else if (dimension_ == 2) {
    FuseEach<2>(inputs, out);
  } else {
    FuseEach<3>(inputs, out);
  }
  if (calibration_) {
    calibration_->Widen(out.cholesky);
    calibration_->Look(out.epoch, inputs, rows_);
  }
  for (SlotInput& input : inputs) input.fused_before = true;
  return tally_;
}

void GaussianFusion::FuseBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  AlignRows(inputs);
  estimate::ConflateBatch(sources_, inputs.size() > 1, batch_);
  const bool valid = batch_.fused.Store(out.means, out.cholesky);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::size_t present = rows_.CountOf(inputs, row);
    out.consistency[row] =
        present > 1 ? batch_.squared_distance[row] / static_cast<float>(2 * (present - 1)) : 0.0f;
  }
  if (inputs.size() > 1) JudgeBatch(inputs, out);
  if (!valid) RemoveUnusable(out);
}

void GaussianFusion::AlignRows(std::span<const SlotInput> inputs) {
  sources_.clear();
  if (rows_.agree()) {
    for (const SlotInput& input : inputs) sources_.push_back(&input.planes);
    return;
  }
  if (aligned_.size() < inputs.size()) aligned_.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const estimate::TuplePlanes& from = inputs[i].planes;
    estimate::TuplePlanes& to = aligned_[i];
    to.ResizeVague(rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const std::uint32_t k = rows_.Of(i, row);
      if (k == SlotRows::kMissing) continue;
      to.mean_x()[row] = from.mean_x()[k];
      to.mean_y()[row] = from.mean_y()[k];
      to.l11()[row] = from.l11()[k];
      to.l21()[row] = from.l21()[k];
      to.l22()[row] = from.l22()[k];
    }
    sources_.push_back(&to);
  }
}

void GaussianFusion::JudgeBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  const std::size_t stride = batch_.fused.padded_size();
  const float gate = gate_ ? static_cast<float>(*gate_) : std::numeric_limits<float>::infinity();
  refuse_.assign(rows_.size(), false);
  bool touched = false;
  if (gate_) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_.CountOf(inputs, row) < 3) continue;
      bool outside = false;
      for (std::size_t i = 0; i < inputs.size(); ++i) outside |= batch_.innovation[i * stride + row] > gate;
      refuse_[row] = outside;
      touched |= outside;
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!rows_.agree() && (rows_.Of(i, row) == SlotRows::kMissing || rows_.CountOf(inputs, row) < 2))
        continue;
      if (touched && refuse_[row]) continue;  // FuseRow measures it
      sum += monitor_.Bounded(batch_.innovation[i * stride + row]);
      ++count;
    }
    monitor_.Add(inputs[i].source, sum, count);
  }
  if (!touched) return;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (refuse_[row]) FuseRow<2>(inputs, row, out);
  }
}

template <int D>
void GaussianFusion::FuseEach(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  for (std::size_t row = 0; row < rows_.size(); ++row) FuseRow<D>(inputs, row, out);
  RemoveUnusable(out);
}

template <int D>
void GaussianFusion::FuseRow(std::span<const SlotInput> inputs, std::size_t row, estimate::FusedSlot& out) {
  std::vector<GaussianContribution<D>> contributions =
      ContributionsOf<D>(inputs, [this, row](std::size_t input) -> std::optional<std::size_t> {
        const std::uint32_t k = rows_.Of(input, row);
        return k == SlotRows::kMissing ? std::nullopt : std::optional<std::size_t>(k);
      });
  const std::optional<SubjectEstimate<D>> estimate = FuseSubject<D>(contributions, method_, gate_);
  for (const GaussianContribution<D>& contribution : contributions) {
    if (contribution.innovation)
      monitor_.Add(contribution.source, monitor_.Bounded(*contribution.innovation), 1);
    tally_.Count(contribution, inputs[contribution.input], out.epoch, out.subjects[row]);
  }
  if (estimate) {
    WriteRow(*estimate, row, out);
  } else {
    out.means[row * D] = kNotANumber;  // RemoveUnusable takes it out
  }
}

template <int D>
void GaussianFusion::ExplainSubject(std::span<const SlotInput> inputs, std::uint32_t subject,
                                    const SourceTable& sources, estimate::SubjectTuples& to) const {
  std::vector<GaussianContribution<D>> contributions = ContributionsOf<D>(
      inputs, [inputs, subject](std::size_t input) { return inputs[input].RowOf(subject); });
  FuseSubject<D>(contributions, method_, gate_);
  for (const GaussianContribution<D>& contribution : contributions) {
    estimate::SourceTuple& tuple =
        to.tuples.emplace_back(Explained(contribution, inputs[contribution.input], sources));
    tuple.mean.resize(D);
    tuple.cholesky.resize(estimate::TriangleSize(D));
    WriteTuple<D>(contribution.tuple, tuple.mean.data(), tuple.cholesky.data());
  }
}

void GaussianFusion::Explain(std::span<const SlotInput> inputs, std::uint32_t subject,
                             const SourceTable& sources, estimate::SubjectTuples& to) const {
  to.gate = gate_;
  if (dimension_ == 1) return ExplainSubject<1>(inputs, subject, sources, to);
  if (dimension_ == 2) return ExplainSubject<2>(inputs, subject, sources, to);
  ExplainSubject<3>(inputs, subject, sources, to);
}

void GaussianFusion::RemoveUnusable(estimate::FusedSlot& out) {
  const std::size_t d = dimension_;
  const std::size_t triangle = estimate::TriangleSize(d);
  kept_.clear();
  for (std::uint32_t row = 0; row < out.subjects.size(); ++row) {
    if (estimate::ValidTuples(d, {&out.means[row * d], d}, {&out.cholesky[row * triangle], triangle}))
      kept_.push_back(row);
  }
  tally_.unusable += out.subjects.size() - kept_.size();
  if (kept_.size() == out.subjects.size()) return;
  KeepRows(kept_, out);
  KeepRows(kept_, 1, out.consistency);
}

}  // namespace tributary::fusion
