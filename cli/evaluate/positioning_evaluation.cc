#include "cli/evaluate/positioning_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/model/model_source.h"
#include "cli/number_formats.h"
#include "cli/table.h"
#include "core/estimate/conflation.h"
#include "core/estimate/gaussian.h"
#include "core/runtime/printable.h"
#include "core/scene/gaussian_noise.h"
#include "core/scene/room_channel.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"
#include "node/workload/workload.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kPanels = 4;
constexpr std::size_t kBatch = 64;
constexpr double kCmPerM = 100;

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
  RETURN_IF_ERROR(workload.Run(samples, tuples));
  return tuples.subjects.size() == count ? absl::OkStatus()
                                         : absl::InternalError("the network gave a tuple that is not usable");
}

}  // namespace

nlohmann::ordered_json ToJsonInCm(const ErrorFigures& figures) {
  return {{"mean_cm", kCmPerM * figures.mean_m},
          {"p90_cm", kCmPerM * figures.p90_m},
          {"p99_cm", kCmPerM * figures.p99_m},
          {"max_cm", kCmPerM * figures.max_m},
          {"nees", figures.nees}};
}

absl::StatusOr<PositioningEvaluation> EvaluatePositioning(const nn::PositioningNetwork& network,
                                                          const PositioningEvaluationOptions& options) {
  std::vector<std::unique_ptr<workload::Workload>> workloads;
  for (std::size_t p = 0; p < kPanels; ++p) {
    ASSIGN_OR_RETURN(auto accelerator, accelerator::CreateAccelerator(
                                           {.format = options.format, .max_batch = kBatch}, network));
    ASSIGN_OR_RETURN(auto workload, workload::CreatePositioning(
                                        std::move(accelerator),
                                        {.angle_deg = scene::WallAngleDeg(static_cast<scene::Wall>(p))},
                                        network.covariance_scale));
    workloads.push_back(std::move(workload));
  }

  const scene::RoomExamples examples{scene::MixBits(options.seed, 0)};
  std::array<PositionErrors, kPanels> errors;
  std::array<estimate::TupleFrame, kPanels> tuples;
  source::SensorFrame samples;
  for (std::size_t first = 0; first < options.points; first += kBatch) {
    const std::size_t count = std::min(kBatch, options.points - first);
    for (std::size_t p = 0; p < kPanels; ++p) {
      RETURN_IF_ERROR(
          RunPanel(examples, first, count, static_cast<scene::Wall>(p), *workloads[p], samples, tuples[p]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const scene::RoomPosition user = examples.User(first + i);
      std::vector<estimate::Gaussian<2>> estimates;
      for (std::size_t p = 0; p < kPanels; ++p) {
        estimates.push_back(
            estimate::Gaussian<2>::FromTuple(&tuples[p].means[2 * i], &tuples[p].cholesky[3 * i]));
        ASSIGN_OR_RETURN(const auto fused, estimate::Conflate<2>(estimates));
        errors[p].Add(fused, {user.x, user.y});
      }
    }
  }

  PositioningEvaluation evaluation;
  for (std::size_t p = 0; p < kPanels; ++p) evaluation[p] = errors[p].Figures();
  return evaluation;
}

namespace {

struct EvaluatePositioningArguments {
  std::string model;
  PositioningEvaluationOptions evaluation;
  std::vector<fpga::NumberFormat> formats{fpga::kNumberFormats.begin(), fpga::kNumberFormats.end()};
  bool json = false;
};

absl::Status Evaluate(const EvaluatePositioningArguments& arguments) {
  ASSIGN_OR_RETURN(const auto model, LoadPositioningModel(arguments.model));
  nlohmann::ordered_json json = {{"model", model.path},
                                 {"sha256", model.network.sha256},
                                 {"points", arguments.evaluation.points},
                                 {"seed", arguments.evaluation.seed}};
  const Table table({Left("format", 8), Right("panels"), Right("mean", 8), Right("p90", 8), Right("p99", 8),
                     Right("max", 8), Right("NEES", 8)});
  if (!arguments.json) {
    std::cout << fmt::format("{}, {}; errors in cm, ideal NEES 2\n{}\n", runtime::Printable(model.path),
                             runtime::Counted(arguments.evaluation.points, "user"), table.Heading());
  }
  for (const fpga::NumberFormat format : arguments.formats) {
    PositioningEvaluationOptions options = arguments.evaluation;
    options.format = format;
    ASSIGN_OR_RETURN(const auto evaluation, EvaluatePositioning(model.network, options));
    auto& panels = json["formats"][std::string(fpga::NumberFormatName(format))]["panels"];
    for (std::size_t p = 0; p < evaluation.size(); ++p) {
      const ErrorFigures& figures = evaluation[p];
      panels[std::to_string(p + 1)] = ToJsonInCm(figures);
      if (arguments.json) continue;
      const auto cm = [](double m) { return fmt::format("{:.3f}", kCmPerM * m); };
      std::cout << table.Row(fpga::NumberFormatName(format), p + 1, cm(figures.mean_m), cm(figures.p90_m),
                             cm(figures.p99_m), cm(figures.max_m), fmt::format("{:.3f}", figures.nees))
                << "\n";
    }
  }
  if (arguments.json) std::cout << json.dump() << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddEvaluatePositioningCommand(Commands& evaluate) {
  auto [command, arguments] = evaluate.Add<EvaluatePositioningArguments>(
      "positioning", "Measure the errors of the positioning model on held-out users, with one to four panels",
      Evaluate);
  command.Text("--model", arguments.model, "FILE", "Model file; default: the shipped model");
  command.Number("--points", arguments.evaluation.points, "N", "Number of held-out users", {1, 10'000'000});
  command.Number("--seed", arguments.evaluation.seed, "N", "Seed of the held-out users");
  std::vector<std::pair<std::string, std::vector<fpga::NumberFormat>>> formats;
  for (const auto& [word, format] : NumberFormatWords()) formats.push_back({word, {format}});
  command.Choice("--format", arguments.formats, formats, "Number format; default: all of them");
  command.Json(arguments.json);
  command.Examples("Example:\n  tributary evaluate positioning --format int8_16 --json");
}

}  // namespace tributary::cli
