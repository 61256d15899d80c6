#include "cli/adapt/method_comparison.h"

#include <fmt/format.h>

#include <iostream>

#include "cli/evaluate/positioning_evaluation.h"
#include "cli/table.h"
#include "core/status/macros.h"

namespace tributary::cli {

absl::StatusOr<std::pair<RoomModel, Compared>> CompareMethods(
    const nn::PositioningNetwork& base, const nn::PositioningNetwork& planned, const scene::RoomPlan& plan,
    const MeasuredPoints& measured, const AdaptationOptions& options, const AdaptationProgress& progress) {
  constexpr auto kFloat = fpga::NumberFormat::kFloat;
  const auto judge = [&](const RoomModel& model, fpga::NumberFormat format) {
    return Judge(model, format, measured.judged, plan);
  };
  const Mountings as_planned(measured.labelled.walls.size());
  Compared compared;
  ASSIGN_OR_RETURN(compared.unadapted, judge({base, as_planned}, kFloat));
  ASSIGN_OR_RETURN(compared.plan_alone, judge({planned, as_planned}, kFloat));
  ASSIGN_OR_RETURN(const RoomModel nothing, LearnFromNothing(plan, measured.labelled, options, progress));
  ASSIGN_OR_RETURN(compared.from_nothing, judge(nothing, kFloat));
  ASSIGN_OR_RETURN(const RoomModel points,
                   LearnPointsAlone(base, plan, measured.labelled, options, progress));
  ASSIGN_OR_RETURN(compared.points_alone, judge(points, kFloat));
  ASSIGN_OR_RETURN(RoomModel adapted, LearnPoints(planned, plan, measured.labelled, options, progress));
  ASSIGN_OR_RETURN(compared.adapted, judge(adapted, kFloat));
  ASSIGN_OR_RETURN(compared.adapted_int8_16, judge(adapted, fpga::NumberFormat::kInt8Int16));
  return std::pair(std::move(adapted), compared);
}

std::string TextInCm(double m) { return fmt::format("{:.1f}", 100 * m); }

void PrintCompared(const Compared& compared) {
  const Table table({Left("method", 36), Right("mean", 8), Right("p90", 8), Right("NEES", 8)});
  std::cout << table.Heading() << "\n";
  for (const ComparedMethod& row : kComparedMethods) {
    const ErrorFigures& figures = compared.*row.figures;
    std::cout << table.Row(row.text, TextInCm(figures.mean_m), TextInCm(figures.p90_m),
                           fmt::format("{:.2f}", figures.nees))
              << "\n";
  }
}

nlohmann::ordered_json ToJson(const Compared& compared) {
  nlohmann::ordered_json json;
  for (const ComparedMethod& row : kComparedMethods) json[row.key] = ToJsonInCm(compared.*row.figures);
  return json;
}

}  // namespace tributary::cli
