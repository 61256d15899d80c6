#include "cli/adapt/room_adaptation.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "cli/adapt/point_batches.h"
#include "cli/train/room_batches.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/positioning/positioning_calibration.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/nn/positioning/positioning_trainer.h"
#include "core/scene/gaussian_noise.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kPointShare = 5;  // one of so many points is held out
constexpr std::uint64_t kCheckpoints = 10;
constexpr std::size_t kPlanUsers = 2'000;  // that calibrate a network which knows the plan alone

// Users of their own for each purpose.
enum class AdaptationPurpose : std::uint64_t { kPlan, kPlanScale, kRehearsal, kSplit, kPoints, kWeights };

std::uint64_t SeedFor(const AdaptationOptions& options, AdaptationPurpose purpose) {
  return scene::MixBits(options.seed, 0x0ada'0000 + static_cast<std::uint64_t>(purpose));
}

Mountings AsPlanned(const std::vector<scene::Wall>& walls) { return Mountings(walls.size()); }

struct SplitPoints {
  LabelledPoints training, held_out;
};

SplitPoints Split(const LabelledPoints& points, std::uint64_t seed) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  nn::RandomStream random(seed);
  random.Shuffle(order);
  const std::size_t held_out = std::max<std::size_t>(2, points.size() / kPointShare);
  return {points.Subset(std::span(order).subspan(held_out)), points.Subset(std::span(order).first(held_out))};
}

// Where the network's weights start, and with what the points are mixed.
struct PointTraining {
  bool from_network = true;  // else random weights
  std::uint64_t steps = 0;
  double rate = 0;
  bool rehearse = false;  // half of each batch are users of the simulated plan
  bool start_is_candidate = true;
  double scale_prior = 10;  // nn::DeviationFactor
};

absl::StatusOr<RoomModel> TrainOnPoints(nn::PositioningNetwork network, const scene::RoomPlan& plan,
                                        const LabelledPoints& points, const PointTraining& training,
                                        const AdaptationOptions& options, std::string_view stage,
                                        const AdaptationProgress& progress) {
  constexpr auto kFloat = fpga::NumberFormat::kFloat;
  const SplitPoints split = Split(points, SeedFor(options, AdaptationPurpose::kSplit));
  Mountings mountings = AsPlanned(points.walls);
  if (training.rehearse) {
    ASSIGN_OR_RETURN(const auto estimates, Locate(network, kFloat, split.training));
    mountings = FitMountings(estimates, split.training, plan);
  }
  nn::PositioningTrainer trainer({.batch = options.batch,
                                  .steps = training.steps,
                                  .peak_learning_rate = training.rate,
                                  .seed = SeedFor(options, AdaptationPurpose::kWeights),
                                  .from = training.from_network ? &network : nullptr});
  PointBatches batches(split.training, plan, mountings, network, {},
                       SeedFor(options, AdaptationPurpose::kPoints));
  const std::size_t simulated = training.rehearse ? options.batch / 2 : 0;
  std::optional<RoomBatches> rehearsal;
  if (simulated > 0) {
    rehearsal.emplace(scene::RoomExamples{SeedFor(options, AdaptationPurpose::kRehearsal),
                                          scene::RoomConditions::Drawn(), plan},
                      simulated, network, options.threads > 1, points.walls);
  }

  RoomModel best{network, mountings};
  double least_m = std::numeric_limits<double>::infinity();
  std::vector<double> best_squared;
  // A network that diverged is no candidate.
  const auto judge = [&](const nn::PositioningNetwork& candidate) {
    const auto seen = Locate(candidate, kFloat, split.training);
    const auto held_out = Locate(candidate, kFloat, split.held_out);
    if (!seen.ok() || !held_out.ok()) return;
    const Mountings hung = FitMountings(*seen, split.training, plan);
    const auto errors = FuseErrors(*held_out, split.held_out, plan, hung);
    if (!errors.ok()) return;
    const double mean_m = errors->Figures().mean_m;
    if (!(mean_m < least_m)) return;
    least_m = mean_m;
    best = {candidate, hung};
    best_squared = errors->squared_distances();
  };
  if (training.start_is_candidate) judge(network);

  std::vector<float> features(options.batch * nn::PositioningNetwork::kInputs), targets(options.batch * 2);
  nn::PositioningNetwork candidate = network;
  double loss = 0;
  for (std::uint64_t step = 1; step <= training.steps; ++step) {
    batches.Fill(std::span(features).subspan(simulated * nn::PositioningNetwork::kInputs),
                 std::span(targets).subspan(2 * simulated));
    if (rehearsal.has_value()) {
      const RoomBatches::Batch batch = rehearsal->Next();
      std::ranges::copy(batch.features, features.begin());
      std::ranges::copy(batch.targets, targets.begin());
    }
    loss += trainer.Step(features, targets);
    if (step % std::max<std::uint64_t>(1, training.steps / kCheckpoints) != 0) continue;
    trainer.Export(candidate);
    judge(candidate);
    progress(stage, step, training.steps, loss * kCheckpoints / static_cast<double>(training.steps));
    loss = 0;
  }
  if (best_squared.empty()) return absl::InternalError("training diverged; try another --seed");
  best.network.covariance_scale *=
      static_cast<float>(nn::DeviationFactor(best_squared, training.scale_prior));
  best.network.activation_range = nn::RangesOf(best.network, points.features);
  return best;
}

// Standardisation by the points themselves: there is nothing else to learn it from.
nn::PositioningNetwork Blank(const LabelledPoints& points) {
  nn::PositioningNetwork network;
  const std::size_t panels = points.walls.size();
  const auto sense = [&](std::size_t i, nn::FeatureSpan features) {
    std::ranges::copy(points.Features(i / panels, i % panels), features.begin());
  };
  FitStandardisation(sense, points.size() * panels, network);
  return network;
}

}  // namespace

absl::StatusOr<nn::PositioningNetwork> LearnPlan(const nn::PositioningNetwork& base,
                                                 const scene::RoomPlan& plan,
                                                 const std::vector<scene::Wall>& walls,
                                                 const AdaptationOptions& options,
                                                 const AdaptationProgress& progress) {
  nn::PositioningNetwork network = base;
  nn::PositioningTrainer trainer({.batch = options.batch,
                                  .steps = options.plan_steps,
                                  .peak_learning_rate = options.plan_rate,
                                  .from = &base});
  RoomBatches batches({SeedFor(options, AdaptationPurpose::kPlan), scene::RoomConditions::Drawn(), plan},
                      options.batch, network, options.threads > 1, walls);
  double loss = 0;
  for (std::uint64_t step = 1; step <= options.plan_steps; ++step) {
    const RoomBatches::Batch batch = batches.Next();
    loss += trainer.Step(batch.features, batch.targets);
    if (step % std::max<std::uint64_t>(1, options.plan_steps / kCheckpoints) != 0) continue;
    progress("plan", step, options.plan_steps, loss * kCheckpoints / static_cast<double>(options.plan_steps));
    loss = 0;
  }
  trainer.Export(network);

  const scene::RoomExamples others{SeedFor(options, AdaptationPurpose::kPlanScale),
                                   scene::RoomConditions::Working(), plan};
  const LabelledPoints points = SimulatePoints(others, walls, kPlanUsers);
  network.covariance_scale = 1;
  ASSIGN_OR_RETURN(const auto estimates, Locate(network, fpga::NumberFormat::kFloat, points));
  ASSIGN_OR_RETURN(const PositionErrors errors, FuseErrors(estimates, points, plan, AsPlanned(walls)));
  network.covariance_scale = static_cast<float>(nn::DeviationFactor(errors.squared_distances(), 0));
  network.activation_range = nn::RangesOf(network, points.features);
  return network;
}

absl::StatusOr<RoomModel> LearnPoints(const nn::PositioningNetwork& network, const scene::RoomPlan& plan,
                                      const LabelledPoints& points, const AdaptationOptions& options,
                                      const AdaptationProgress& progress) {
  return TrainOnPoints(network, plan, points,
                       {.steps = options.point_steps, .rate = options.point_rate, .rehearse = true}, options,
                       "points", progress);
}

absl::StatusOr<RoomModel> LearnPointsAlone(const nn::PositioningNetwork& base, const scene::RoomPlan& plan,
                                           const LabelledPoints& points, const AdaptationOptions& options,
                                           const AdaptationProgress& progress) {
  return TrainOnPoints(base, plan, points,
                       {.steps = options.scratch_steps, .rate = options.scratch_rate, .scale_prior = 1},
                       options, "points alone", progress);
}

absl::StatusOr<RoomModel> LearnFromNothing(const scene::RoomPlan& plan, const LabelledPoints& points,
                                           const AdaptationOptions& options,
                                           const AdaptationProgress& progress) {
  return TrainOnPoints(Blank(points), plan, points,
                       {.from_network = false,
                        .steps = options.scratch_steps,
                        .rate = options.scratch_rate,
                        .start_is_candidate = false,
                        .scale_prior = 1},
                       options, "from nothing", progress);
}

absl::StatusOr<ErrorFigures> Judge(const RoomModel& model, fpga::NumberFormat format,
                                   const LabelledPoints& points, const scene::RoomPlan& plan) {
  ASSIGN_OR_RETURN(const auto estimates, Locate(model.network, format, points));
  ASSIGN_OR_RETURN(const PositionErrors errors, FuseErrors(estimates, points, plan, model.mountings));
  return errors.Figures();
}

}  // namespace tributary::cli
