#include "cli/evaluate/modulation_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/estimate/categorical.h"
#include "core/estimate/log_linear_pool.h"
#include "core/nn/optimise/cross_entropy.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kClasses = nn::kModulationClasses;
constexpr std::size_t kFeatures = radio::kBurstFeatures;

using LogProbabilities = std::array<float, kClasses>;

LogProbabilities WeightedProduct(std::span<const LogProbabilities> beliefs, std::span<const double> weights) {
  std::array<double, kClasses> sum = {};
  LogProbabilities evidence;
  for (std::size_t i = 0; i < beliefs.size(); ++i) {
    estimate::ToEvidence<float>(beliefs[i], {}, /*leaves=*/1, evidence);
    estimate::AddEvidence<float>(evidence, weights[i], sum);
  }
  estimate::Normalise(sum);
  LogProbabilities conflated;
  std::ranges::transform(sum, conflated.begin(), [](double value) { return static_cast<float>(value); });
  return conflated;
}

// As an aggregator fuses sources with equally likely classes: by its method "product" …
LogProbabilities Conflated(std::span<const LogProbabilities> beliefs) {
  return WeightedProduct(beliefs, std::vector<double>(beliefs.size(), 1.0));
}

// … and by its method "intersection".
LogProbabilities Pooled(std::span<const LogProbabilities> beliefs) {
  const std::vector<double> log_prior = estimate::LogPrior({}, kClasses);
  std::vector<double> weights;
  LogProbabilities evidence;
  for (const LogProbabilities& belief : beliefs) {
    estimate::ToEvidence<float>(belief, {}, /*leaves=*/1, evidence);
    weights.push_back(estimate::InformationOf<float>(evidence, log_prior));
  }
  estimate::WeighByInformation(weights);
  return WeightedProduct(beliefs, weights);
}

std::size_t MostLikely(const LogProbabilities& belief) {
  return static_cast<std::size_t>(std::ranges::max_element(belief) - belief.begin());
}

// One transmission: ten bursts at the first receiver, and the first of them at the others.
class Transmissions {
 public:
  static constexpr std::size_t kBursts = kSuccessiveBursts + kMostReceivers - 1;

  Transmissions(const radio::BurstGenerator& generator, accelerator::Accelerator& accelerator,
                double temperature)
      : generator_(generator),
        accelerator_(accelerator),
        temperature_(temperature),
        bursts_(kBursts * kFeatures),
        logits_(kBursts * kClasses),
        beliefs_(kBursts) {}

  absl::Status Run(radio::Modulation modulation, double snr_db, std::uint64_t number) {
    const std::span<float> all = bursts_;
    const std::uint64_t first = number * kSuccessiveBursts;
    // Receiver 0's bursts come first, newest first, so that those of the first burst lie together behind
    // them.
    for (std::size_t i = 1; i < kSuccessiveBursts; ++i) {
      generator_.Generate(modulation, snr_db, first + i, /*receiver=*/0,
                          all.subspan((kSuccessiveBursts - 1 - i) * kFeatures).first<kFeatures>());
    }
    generator_.GenerateAll(modulation, snr_db, first, all.subspan((kSuccessiveBursts - 1) * kFeatures));
    RETURN_IF_ERROR(accelerator_.Infer(bursts_, kBursts, logits_));
    for (std::size_t i = 0; i < kBursts; ++i) {
      nn::LogSoftmax(std::span(logits_).subspan(i * kClasses, kClasses), temperature_, beliefs_[i]);
    }
    return absl::OkStatus();
  }

  std::span<const LogProbabilities> successive() const {
    return std::span(beliefs_).first(kSuccessiveBursts);
  }
  std::span<const LogProbabilities> receivers(std::size_t count) const {
    return std::span(beliefs_).subspan(kSuccessiveBursts - 1, count);
  }

 private:
  const radio::BurstGenerator& generator_;
  accelerator::Accelerator& accelerator_;
  double temperature_;
  std::vector<float> bursts_, logits_;
  std::vector<LogProbabilities> beliefs_;
};

ModulationEvaluation EmptyEvaluation() {
  ModulationEvaluation evaluation;
  evaluation.push_back({.name = "one", .by_snr = {}});
  evaluation.push_back({.name = fmt::format("vote_of_{}", kSuccessiveBursts), .by_snr = {}});
  evaluation.push_back({.name = fmt::format("conflation_of_{}", kSuccessiveBursts), .by_snr = {}});
  for (const char* fusion : {"receivers", "pool"}) {
    for (std::size_t n = 2; n <= kMostReceivers; ++n) {
      evaluation.push_back({.name = fmt::format("{}_{}", fusion, n), .by_snr = {}});
    }
  }
  return evaluation;
}

void AddDecisions(const Transmissions& transmissions, std::size_t snr, std::size_t truth,
                  ModulationEvaluation& evaluation) {
  auto decision = evaluation.begin();
  const auto next = [&]() -> ClassificationFigures& { return (decision++)->by_snr[snr]; };
  ClassificationFigures& one = next();
  std::vector<std::size_t> decisions;
  for (const LogProbabilities& belief : transmissions.successive()) {
    one.Add(belief, truth);
    decisions.push_back(MostLikely(belief));
  }
  next().Add(MajorityOf(decisions), truth);
  next().Add(Conflated(transmissions.successive()), truth);
  for (std::size_t n = 2; n <= kMostReceivers; ++n) next().Add(Conflated(transmissions.receivers(n)), truth);
  for (std::size_t n = 2; n <= kMostReceivers; ++n) next().Add(Pooled(transmissions.receivers(n)), truth);
}

}  // namespace

ClassificationFigures DecisionFigures::all() const {
  ClassificationFigures all;
  for (const ClassificationFigures& figures : by_snr) all.Add(figures);
  return all;
}

const DecisionFigures& FindDecision(const ModulationEvaluation& evaluation, std::string_view name) {
  return *std::ranges::find(evaluation, name, &DecisionFigures::name);
}

absl::StatusOr<ModulationEvaluation> EvaluateModulation(const nn::ModulationNetwork& network,
                                                        const ModulationEvaluationOptions& options) {
  if (!std::ranges::equal(network.classes, radio::kModulations)) {
    return absl::InvalidArgumentError(fmt::format("the model tells {} apart, the bursts are {}",
                                                  fmt::join(network.classes, ","),
                                                  fmt::join(radio::kModulations, ",")));
  }
  ASSIGN_OR_RETURN(
      const radio::BurstGenerator generator,
      radio::BurstGenerator::Create(options.domain, BurstSeed(options.seed, BurstPurpose::kEvaluation)));
  ASSIGN_OR_RETURN(const auto accelerator,
                   accelerator::CreateAccelerator(
                       {.format = options.format, .max_batch = Transmissions::kBursts}, network));
  Transmissions transmissions(generator, *accelerator, network.temperature);
  ModulationEvaluation evaluation = EmptyEvaluation();
  for (std::size_t snr = 0; snr < kSnrs; ++snr) {
    for (std::size_t truth = 0; truth < kClasses; ++truth) {
      for (std::size_t i = 0; i < options.transmissions; ++i) {
        RETURN_IF_ERROR(transmissions.Run(static_cast<radio::Modulation>(truth), SnrDb(snr),
                                          snr * options.transmissions + i));
        AddDecisions(transmissions, snr, truth, evaluation);
      }
    }
  }
  return evaluation;
}

}  // namespace tributary::cli
