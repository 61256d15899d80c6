// Levenberg-Marquardt over all boards: the step that central training on the union of their data takes.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "aggregator/learning/rules/strategy.h"
#include "core/nn/beacon/beacon_sums.h"
#include "core/nn/beacon/federated_beacon.h"
#include "core/nn/optimise/levenberg_marquardt.h"

namespace tributary::learning {
namespace {

using nn::BeaconPlaces;

// The combined delta is the mean of the boards' digits. The model's layers are the best parameters whose
// error is known, its high and low parts the trial that the boards judge in the next round.
//
// A trial with a lower error per pattern than the best becomes the best, and μ falls. Otherwise μ rises, and
// the next trial starts from the best again. So do sums that no data have: a hostile board can stop the
// training, and by plausible sums steer it, as with a mean. Once μ is at its limit the trial is the
// best itself.
class SecondOrderStep final : public Strategy {
 public:
  SecondOrderStep(const StrategyOptions& options, std::size_t n)
      : Strategy(options, n), best_(n), raises_(1) {}
  std::vector<std::span<float>> state() override { return {best_, raises_}; }

 private:
  absl::Status Apply(std::size_t, std::span<const float> combined, double total_weight,
                     std::span<float> model) override {
    if (model.size() != BeaconPlaces::kSecondOrderElements) {
      return absl::FailedPreconditionError("the strategy levenberg_marquardt trains second-order beacons");
    }
    std::vector<float> digits(nn::kBeaconSumElements);
    std::ranges::transform(combined.subspan(BeaconPlaces::kSums), digits.begin(), [&](float mean) {
      return static_cast<float>(std::nearbyint(static_cast<double>(mean) * total_weight));
    });
    const auto boards = static_cast<std::size_t>(std::clamp(total_weight, 0.0, 0x1p31));
    absl::StatusOr<nn::BeaconSums> sums = nn::UnpackBeaconSums(digits, boards);
    absl::StatusOr<nn::BeaconSums> best = Best();
    if (sums.ok() && (!best.ok() || sums->MeanSquaredError() < best->MeanSquaredError())) {
      if (best.ok()) raises_[0] = std::max(raises_[0] - 1, kFewestRaises);
      KeepTrial(model, digits, total_weight);
      best = std::move(sums);
    } else if (best.ok()) {
      if (Mu() <= nn::kMaxMu) ++raises_[0];
    } else {
      return absl::OkStatus();  // no sums yet: the same trial again
    }
    Propose(*best, model);
    return absl::OkStatus();
  }

  // μ of 1e-20: below it μ is lost in any JᵀJ.
  static constexpr float kFewestRaises = -17;

  double Mu() const {
    double mu = nn::kFirstMu;
    for (float i = 0; i < raises_[0]; ++i) mu *= nn::kMuIncrease;
    for (float i = 0; i > raises_[0]; --i) mu *= nn::kMuDecrease;
    return mu;
  }

  // best_ has the layout of the model, with the sums' digits in their place and the number of boards where
  // the model has its first gain.
  absl::StatusOr<nn::BeaconSums> Best() const {
    return nn::UnpackBeaconSums(std::span(best_).subspan(BeaconPlaces::kSums),
                                static_cast<std::size_t>(best_.front()));
  }

  void KeepTrial(std::span<float> model, std::span<const float> digits, double total_weight) {
    std::ranges::copy(model, best_.begin());
    std::ranges::copy(digits, best_.begin() + BeaconPlaces::kSums);
    best_.front() = static_cast<float>(total_weight);
    const nn::BeaconParameters parameters = nn::ParametersAt(model);
    std::ranges::transform(parameters, model.begin() + BeaconPlaces::kLayers,
                           [](double value) { return static_cast<float>(value); });
  }

  void Propose(const nn::BeaconSums& best, std::span<float> model) {
    nn::BeaconParameters parameters = nn::ParametersAt(best_);
    nn::DampedStep damped;
    for (; Mu() <= nn::kMaxMu; ++raises_[0]) {
      const Eigen::VectorXd* const step = damped.Solve(best.equations, Mu());
      if (step == nullptr) continue;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i] -= (*step)[static_cast<Eigen::Index>(i)];
      }
      break;
    }
    nn::SetParametersAt(parameters, model);
  }

  std::vector<float> best_;
  std::vector<float> raises_;  // of μ, one number: net of falls. A whole number, hence exact when stored
};

}  // namespace

std::unique_ptr<Strategy> MakeSecondOrder(const StrategyOptions& options, std::size_t element_count) {
  return std::make_unique<SecondOrderStep>(options, element_count);
}

}  // namespace tributary::learning
