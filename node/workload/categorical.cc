#include "core/estimate/categorical.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/macros.h"
#include "node/workload/network_run.h"
#include "node/workload/workload.h"

namespace tributary::workload {
namespace {

// Runs the network and makes log-probabilities of each subject's logits.
class CategoricalWorkload final : public Workload {
 public:
  CategoricalWorkload(std::unique_ptr<accelerator::Accelerator> accelerator, std::size_t classes,
                      double temperature)
      : run_(std::move(accelerator)), temperature_(temperature), scaled_(classes) {}

  std::uint64_t unusable_tuples() const override { return unusable_tuples_; }
  accelerator::Accelerator::Counters accelerator_counters() const override { return run_.counters(); }

  absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) override {
    tuples.Begin(samples.epoch, samples.captured_unix_ns,
                 {.dimension = 0, .classes = static_cast<std::uint32_t>(scaled_.size())});
    RETURN_IF_ERROR(run_.Infer(samples));
    for (std::size_t i = 0; i < samples.subjects.size(); ++i) {
      Append(samples.subjects[i], run_.outputs(i), tuples);
    }
    return absl::OkStatus();
  }

 private:
  // log_softmax(logits / temperature).
  void Append(std::uint32_t subject, std::span<const float> logits, estimate::TupleFrame& tuples) {
    if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
      ++unusable_tuples_;
      return;
    }
    std::ranges::transform(logits, scaled_.begin(), [this](float logit) { return logit / temperature_; });
    estimate::Normalise(scaled_);
    tuples.subjects.push_back(subject);
    // Beyond the range of fp32 it is zero to every receiver.
    constexpr double kLeast = std::numeric_limits<float>::lowest();
    for (const double each : scaled_) {
      tuples.log_probabilities.push_back(static_cast<float>(std::max(each, kLeast)));
    }
  }

  NetworkRun run_;
  const double temperature_;
  std::vector<double> scaled_;  // [classes], of the present subject
  std::uint64_t unusable_tuples_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> CreateCategorical(
    std::unique_ptr<accelerator::Accelerator> accelerator, std::size_t inputs, std::size_t classes,
    double temperature) {
  RETURN_IF_ERROR(CheckShape("network", *accelerator, inputs, classes));
  if (classes < estimate::kLeastClasses || classes > estimate::kMostClasses) {
    return absl::InvalidArgumentError(absl::StrCat("the network tells ", classes,
                                                   " classes apart, allowed are ", estimate::kLeastClasses,
                                                   " to ", estimate::kMostClasses));
  }
  // A tiny temperature would turn every logit into a certainty, and the quotient into infinity.
  if (!(temperature >= 1e-3 && temperature <= 1e3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the temperature is ", temperature, ", must be from 0.001 to 1000"));
  }
  return std::make_unique<CategoricalWorkload>(std::move(accelerator), classes, temperature);
}

}  // namespace tributary::workload
