#include "cli/evaluate/positioning_evaluation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/estimate/conflation.h"
#include "core/estimate/consistency.h"
#include "core/estimate/gaussian.h"
#include "core/scene/gaussian_noise.h"
#include "core/scene/room_examples.h"
#include "node/accelerator/create.h"
#include "node/workload/positioning.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kPanels = 4;
constexpr std::size_t kBatch = 64;

// Errors and NEES of one number of panels.
class ErrorCollector {
 public:
  void Add(const estimate::Gaussian<2>& estimate, const estimate::Vector<2>& truth) {
    errors_cm_.push_back(100 * (estimate.mean - truth).norm());
    nees_sum_ += estimate::NormalisedErrorSquared(estimate, truth);
  }

  ErrorFigures Figures() {
    std::ranges::sort(errors_cm_);
    const double count = static_cast<double>(errors_cm_.size());
    const auto quantile = [&](double q) { return errors_cm_[static_cast<std::size_t>(q * (count - 1))]; };
    return {.mean_cm = std::accumulate(errors_cm_.begin(), errors_cm_.end(), 0.0) / count,
            .p90_cm = quantile(0.9),
            .p99_cm = quantile(0.99),
            .max_cm = errors_cm_.back(),
            .nees = nees_sum_ / count};
  }

 private:
  std::vector<double> errors_cm_;
  double nees_sum_ = 0;
};

// The tuples of the users [first, first + count) as one panel ships them.
absl::Status RunPanel(const scene::RoomExamples& examples, std::size_t first, std::size_t count,
                      scene::Wall wall, workload::Workload& workload, source::SensorFrame& samples,
                      estimate::TupleFrame& tuples) {
  samples.subjects.resize(count);
  samples.features.resize(count * scene::kChannelFeatures);
  for (std::size_t i = 0; i < count; ++i) {
    samples.subjects[i] = static_cast<std::uint32_t>(i);
    examples.Sense(first + i, wall,
                   std::span<float, scene::kChannelFeatures>(
                       samples.features.data() + i * scene::kChannelFeatures, scene::kChannelFeatures));
  }
  if (absl::Status status = workload.Run(samples, tuples); !status.ok()) return status;
  if (tuples.subjects.size() != count)
    return absl::InternalError("the network gave a tuple that is not usable");
  return absl::OkStatus();
}

}  // namespace

nlohmann::ordered_json ToJson(const ErrorFigures& figures) {
  return {{"mean_cm", figures.mean_cm},
          {"p90_cm", figures.p90_cm},
          {"p99_cm", figures.p99_cm},
          {"max_cm", figures.max_cm},
          {"nees", figures.nees}};
}

absl::StatusOr<PositioningEvaluation> EvaluatePositioning(const nn::PositioningNetwork& network,
                                                          const PositioningEvaluationOptions& options) {
  std::vector<std::unique_ptr<workload::PositioningWorkload>> workloads;
  for (std::size_t p = 0; p < kPanels; ++p) {
    auto accelerator =
        accelerator::CreateAccelerator({.format = options.format, .max_batch = kBatch}, network);
    if (!accelerator.ok()) return accelerator.status();
    auto workload = workload::PositioningWorkload::Create(
        *std::move(accelerator), {.angle_deg = scene::WallAngleDeg(static_cast<scene::Wall>(p))},
        network.covariance_scale);
    if (!workload.ok()) return workload.status();
    workloads.push_back(*std::move(workload));
  }

  const scene::RoomExamples examples{scene::MixBits(options.seed, 0)};
  std::array<ErrorCollector, kPanels> collectors;
  std::array<estimate::TupleFrame, kPanels> tuples;
  source::SensorFrame samples;
  for (std::size_t first = 0; first < options.points; first += kBatch) {
    const std::size_t count = std::min(kBatch, options.points - first);
    for (std::size_t p = 0; p < kPanels; ++p) {
      absl::Status status =
          RunPanel(examples, first, count, static_cast<scene::Wall>(p), *workloads[p], samples, tuples[p]);
      if (!status.ok()) return status;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const scene::RoomPosition user = examples.User(first + i);
      std::vector<estimate::Gaussian<2>> estimates;
      for (std::size_t p = 0; p < kPanels; ++p) {
        estimates.push_back(
            estimate::Gaussian<2>::FromTuple(&tuples[p].means[2 * i], &tuples[p].cholesky[3 * i]));
        const auto fused = estimate::Conflate<2>(estimates);
        if (!fused.ok()) return fused.status();
        collectors[p].Add(*fused, {user.x, user.y});
      }
    }
  }

  PositioningEvaluation evaluation{.points = options.points, .by_panels = {}};
  for (std::size_t p = 0; p < kPanels; ++p) evaluation.by_panels[p] = collectors[p].Figures();
  return evaluation;
}

}  // namespace tributary::cli
