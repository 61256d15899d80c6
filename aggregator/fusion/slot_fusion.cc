#include "aggregator/fusion/slot_fusion.h"

#include <algorithm>
#include <limits>

#include "aggregator/fusion/frame_check.h"
#include "aggregator/fusion/subject_fusion.h"
#include "core/estimate/consistency.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

void WriteLeaves(const LeafSet& leaves, std::size_t row, estimate::FusedSlot& out) {
  std::uint64_t* const words = &out.contributors[row * out.contributor_words];
  for (std::size_t word = 0; word < out.contributor_words; ++word) words[word] = LeafWord(leaves, word);
}

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

template <int D>
void WriteRow(const SubjectEstimate<D>& estimate, std::size_t row, estimate::FusedSlot& out) {
  float* factor = &out.cholesky[row * estimate::TriangleSize(D)];
  for (int i = 0; i < D; ++i) {
    out.means[row * D + static_cast<std::size_t>(i)] = static_cast<float>(estimate.tuple.mean[i]);
    for (int j = 0; j <= i; ++j) *factor++ = static_cast<float>(estimate.tuple.cholesky(i, j));
  }
  WriteLeaves(estimate.leaves, row, out);
  out.consistency[row] =
      estimate.fused > 1
          ? static_cast<float>(estimate.squared_distance / static_cast<double>(D * (estimate.fused - 1)))
          : 0.0f;
}

}  // namespace

SlotFusion::SlotFusion(const SiteConfig& site)
    : dimension_(site.dimension),
      contributor_words_(static_cast<std::uint32_t>(LeafWords(site.leaves.size()))),
      monitor_(site.dimension) {
  Configure(site.tuning);
}

void SlotFusion::Configure(const FusionTuning& tuning) {
  method_ = tuning.method;
  gate_.reset();
  if (tuning.gate_probability)
    gate_ = estimate::ChiSquareQuantile(static_cast<int>(dimension_), *tuning.gate_probability);
}

const SlotTally& SlotFusion::Fuse(std::span<SlotInput> inputs, estimate::FusedSlot& out) {
  tally_.gated.clear();
  tally_.redundant = tally_.unusable = 0;
  out.dimension = dimension_;
  out.contributor_words = contributor_words_;
  out.captured_unix_ns = std::numeric_limits<std::int64_t>::max();
  for (const SlotInput& input : inputs) {
    out.captured_unix_ns = std::min(out.captured_unix_ns, input.captured_unix_ns);
  }
  LayOut(inputs, out);
  out.means.resize(rows_ * dimension_);
  out.cholesky.resize(rows_ * estimate::TriangleSize(dimension_));
  out.contributors.resize(rows_ * contributor_words_);
  out.consistency.resize(rows_);
  out.velocities.clear();

  if (dimension_ == 2 && Independent(inputs)) {
    FuseBatch(inputs, out);
  } else if (dimension_ == 1) {
    FuseEach<1>(inputs, out);
  } else if (dimension_ == 2) {
    FuseEach<2>(inputs, out);
  } else {
    FuseEach<3>(inputs, out);
  }
  for (SlotInput& input : inputs) input.fused_before = true;
  return tally_;
}

void SlotFusion::LayOut(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  out.subjects = inputs[0].subjects;
  agree_ = std::all_of(inputs.begin(), inputs.end(),
                       [&](const SlotInput& input) { return input.subjects == out.subjects; });
  rows_ = out.subjects.size();
  if (agree_) return;

  for (std::size_t i = 1; i < inputs.size(); ++i) {
    out.subjects.insert(out.subjects.end(), inputs[i].subjects.begin(), inputs[i].subjects.end());
  }
  std::sort(out.subjects.begin(), out.subjects.end());
  out.subjects.erase(std::unique(out.subjects.begin(), out.subjects.end()), out.subjects.end());
  rows_ = out.subjects.size();
  row_of_.assign(inputs.size() * rows_, kMissing);
  present_.assign(rows_, 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t k = 0; k < inputs[i].subjects.size(); ++k) {
      const auto place = std::lower_bound(out.subjects.begin(), out.subjects.end(), inputs[i].subjects[k]);
      const auto row = static_cast<std::size_t>(place - out.subjects.begin());
      row_of_[i * rows_ + row] = static_cast<std::uint32_t>(k);
      ++present_[row];
    }
  }
}

bool SlotFusion::Independent(std::span<const SlotInput> inputs) const {
  if (inputs.size() == 1) return true;
  if (method_ != FusionMethod::kProduct || inputs.size() > estimate::kMaxBatchSources) return false;
  LeafSet seen;
  for (const SlotInput& input : inputs) {
    if (Intersect(seen, input.leaves)) return false;
    seen |= input.leaves;
  }
  return true;
}

void SlotFusion::FuseBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  AlignRows(inputs);
  estimate::ConflateBatch(sources_, inputs.size() > 1, batch_);
  const bool valid = batch_.fused.Store(out.means, out.cholesky);
  WriteContributors(inputs, out);
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::size_t present = CountOf(inputs, row);
    out.consistency[row] =
        present > 1 ? batch_.squared_distance[row] / static_cast<float>(2 * (present - 1)) : 0.0f;
  }
  if (inputs.size() > 1) JudgeBatch(inputs, out);
  if (!valid) RemoveUnusable(out);
}

void SlotFusion::AlignRows(std::span<const SlotInput> inputs) {
  sources_.clear();
  if (agree_) {
    for (const SlotInput& input : inputs) sources_.push_back(&input.planes);
    return;
  }
  if (aligned_.size() < inputs.size()) aligned_.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const estimate::TuplePlanes& from = inputs[i].planes;
    estimate::TuplePlanes& to = aligned_[i];
    to.ResizeVague(rows_);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::uint32_t k = RowOf(i, row);
      if (k == kMissing) continue;
      to.mean_x()[row] = from.mean_x()[k];
      to.mean_y()[row] = from.mean_y()[k];
      to.l11()[row] = from.l11()[k];
      to.l21()[row] = from.l21()[k];
      to.l22()[row] = from.l22()[k];
    }
    sources_.push_back(&to);
  }
}

void SlotFusion::JudgeBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  const std::size_t stride = batch_.fused.padded_size();
  const float gate = gate_ ? static_cast<float>(*gate_) : std::numeric_limits<float>::infinity();
  refuse_.assign(rows_, false);
  bool touched = false;
  if (gate_) {
    for (std::size_t row = 0; row < rows_; ++row) {
      if (CountOf(inputs, row) < 3) continue;
      bool outside = false;
      for (std::size_t i = 0; i < inputs.size(); ++i) outside |= batch_.innovation[i * stride + row] > gate;
      refuse_[row] = outside;
      touched |= outside;
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (!agree_ && (RowOf(i, row) == kMissing || present_[row] < 2)) continue;
      if (touched && refuse_[row]) continue;  // FuseRow measures it
      sum += monitor_.Bounded(batch_.innovation[i * stride + row]);
      ++count;
    }
    monitor_.Add(inputs[i].source, sum, count);
  }
  if (!touched) return;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (refuse_[row]) FuseRow<2>(inputs, row, out);
  }
}

void SlotFusion::WriteContributors(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  LeafSet all;
  bool uniform = agree_;
  for (const SlotInput& input : inputs) {
    all |= input.leaves;
    uniform &= input.tuple_leaves.empty();
  }
  const std::size_t words = contributor_words_;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (uniform && row > 0) {
      std::copy_n(out.contributors.data(), words, &out.contributors[row * words]);
      continue;
    }
    LeafSet leaves = all;
    if (!uniform) {
      leaves.reset();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (const std::uint32_t k = RowOf(i, row); k != kMissing) leaves |= inputs[i].LeavesOf(k);
      }
    }
    WriteLeaves(leaves, row, out);
  }
}

template <int D>
void SlotFusion::FuseEach(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  for (std::size_t row = 0; row < rows_; ++row) FuseRow<D>(inputs, row, out);
  RemoveUnusable(out);
}

template <int D>
void SlotFusion::FuseRow(std::span<const SlotInput> inputs, std::size_t row, estimate::FusedSlot& out) {
  using Fate = typename Contribution<D>::Fate;
  std::vector<Contribution<D>> contributions;
  contributions.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t k = RowOf(i, row);
    if (k == kMissing) continue;
    contributions.push_back({.tuple = TupleOf<D>(inputs[i], k),
                             .leaves = inputs[i].LeavesOf(k),
                             .source = inputs[i].source,
                             .input = i});
  }
  const std::optional<SubjectEstimate<D>> estimate = FuseSubject<D>(contributions, method_, gate_);
  for (const Contribution<D>& contribution : contributions) {
    if (contribution.innovation)
      monitor_.Add(contribution.source, monitor_.Bounded(*contribution.innovation), 1);
    const SlotInput& input = inputs[contribution.input];
    if (input.fused_before) continue;
    if (contribution.fate == Fate::kRedundant) ++tally_.redundant;
    if (contribution.fate == Fate::kGated)
      tally_.gated.push_back({input.source, input.sequence, out.epoch, out.subjects[row]});
  }
  if (estimate) {
    WriteRow(*estimate, row, out);
  } else {
    out.means[row * D] = kNotANumber;  // RemoveUnusable takes it out
  }
}

void SlotFusion::RemoveUnusable(estimate::FusedSlot& out) {
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
