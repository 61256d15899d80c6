#include "cli/adapt/panel_estimates.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "core/estimate/conflation.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"

namespace tributary::cli {
namespace {

constexpr double kRadians = std::numbers::pi / 180;
constexpr double kPanelY = -scene::kRoomSideM / 2;  // of the panel in its own frame

estimate::Vector<2> ToVector(scene::RoomPosition p) { return {p.x, p.y}; }

estimate::Matrix<2> Rotation(double degrees) {
  const double c = std::cos(degrees * kRadians), s = std::sin(degrees * kRadians);
  estimate::Matrix<2> rotation;
  rotation << c, -s, s, c;
  return rotation;
}

// Gauss-Newton on shift (m) and turn (rad) of one panel.
scene::PanelMounting FitMounting(const std::vector<estimate::Gaussian<2>>& estimates,
                                 const std::vector<estimate::Vector<2>>& nominal) {
  constexpr int kIterations = 30;
  constexpr double kFreedom = 4;  // of Student's t
  constexpr double kShiftM = 0.03, kTurnDeg = 2;
  constexpr double kMedian = 1.386;  // of a squared normalised error, as claimed
  const Eigen::Vector3d prior(kShiftM, kShiftM, kTurnDeg * kRadians);
  Eigen::Vector3d state = Eigen::Vector3d::Zero();
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const scene::PanelMounting mounting{{state[0], state[1]}, state[2] / kRadians};
    const estimate::Matrix<2> back = Rotation(-mounting.turn_deg);
    std::vector<double> squared;
    for (std::size_t i = 0; i < nominal.size(); ++i) {
      const auto seen = scene::ToTrueFrame(mounting, {nominal[i].x(), nominal[i].y()});
      squared.push_back(estimates[i].SquaredDistance(ToVector(seen)));
    }
    std::vector<double> sorted = squared;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    // The network may claim too little or too much: by so much its deviations, squared, are off.
    const double claim = std::max(sorted[sorted.size() / 2] / kMedian, 1e-6);

    Eigen::Matrix3d normal = prior.cwiseAbs2().cwiseInverse().asDiagonal();
    Eigen::Vector3d right = -normal * state;
    for (std::size_t i = 0; i < nominal.size(); ++i) {
      const auto seen = scene::ToTrueFrame(mounting, {nominal[i].x(), nominal[i].y()});
      const estimate::Vector<2> from_panel(seen.x, seen.y - kPanelY);
      Eigen::Matrix<double, 2, 3> slope;  // of where the user seems to be
      slope.leftCols<2>() = -back;
      slope.col(2) = estimate::Vector<2>(from_panel.y(), -from_panel.x());
      const double weight = (kFreedom + 2) / (kFreedom + squared[i] / claim) / claim;
      const estimate::Matrix<2> whiten = estimate::InverseOfLower<2>(estimates[i].cholesky);
      const Eigen::Matrix<double, 2, 3> whitened = whiten * slope;
      const estimate::Vector<2> residual = whiten * (estimates[i].mean - ToVector(seen));
      normal += weight * whitened.transpose() * whitened;
      right += weight * whitened.transpose() * residual;
    }
    const Eigen::Vector3d step = normal.ldlt().solve(right);
    if (!step.allFinite()) break;
    state += step;
    if (step.norm() < 1e-9) break;
  }
  return {{state[0], state[1]}, state[2] / kRadians};
}

}  // namespace

absl::StatusOr<std::vector<estimate::Gaussian<2>>> Locate(const nn::PositioningNetwork& network,
                                                          fpga::NumberFormat format,
                                                          const LabelledPoints& points) {
  constexpr std::size_t kLocateBatch = 64;
  ASSIGN_OR_RETURN(const auto accelerator,
                   accelerator::CreateAccelerator({.format = format, .max_batch = kLocateBatch}, network));
  const std::size_t count = points.size() * points.walls.size();
  std::vector<estimate::Gaussian<2>> estimates(count);
  std::array<float, kLocateBatch * nn::kGaussianOutputs> outputs;
  for (std::size_t first = 0; first < count; first += kLocateBatch) {
    const std::size_t size = std::min(kLocateBatch, count - first);
    RETURN_IF_ERROR(accelerator->Infer(
        std::span(points.features)
            .subspan(first * nn::PositioningNetwork::kInputs, size * nn::PositioningNetwork::kInputs),
        size, std::span(outputs).first(size * nn::kGaussianOutputs)));
    for (std::size_t i = 0; i < size; ++i) {
      const nn::GaussianPosition position = PositionFromOutputs(
          network, std::span<const float>(outputs).subspan(i * nn::kGaussianOutputs, nn::kGaussianOutputs));
      estimate::Gaussian<2>& to = estimates[first + i];
      const auto& [l11, l21, l22] = position.cholesky;
      to.mean << position.mean[0], position.mean[1];
      to.cholesky << l11, 0, l21, l22;
      if (!estimate::Validate(to).ok())
        return absl::InternalError("the network gave a tuple that is not usable");
    }
  }
  return estimates;
}

Mountings FitMountings(const std::vector<estimate::Gaussian<2>>& estimates, const LabelledPoints& points,
                       const scene::RoomPlan& plan) {
  Mountings mountings;
  const std::size_t panels = points.walls.size();
  for (std::size_t panel = 0; panel < panels; ++panel) {
    std::vector<estimate::Gaussian<2>> own;
    std::vector<estimate::Vector<2>> nominal;
    for (std::size_t i = 0; i < points.size(); ++i) {
      own.push_back(estimates[i * panels + panel]);
      nominal.push_back(ToVector(scene::ToPanelFrame(plan, points.walls[panel], points.positions[i])));
    }
    mountings.push_back(FitMounting(own, nominal));
  }
  return mountings;
}

workload::PanelPose PoseOf(const scene::RoomPlan& plan, scene::Wall wall,
                           const scene::PanelMounting& mounting) {
  // A point p of the true frame is at c + s + R(turn) · (p - c) in the nominal one, c being the panel.
  const estimate::Vector<2> panel(0, kPanelY);
  const double angle_deg = scene::WallAngleDeg(wall);
  const estimate::Vector<2> place =
      ToVector(scene::PanelOrigin(plan, wall)) +
      Rotation(angle_deg) * (panel + ToVector(mounting.shift) - Rotation(mounting.turn_deg) * panel);
  return {place.x(), place.y(), angle_deg + mounting.turn_deg};
}

absl::StatusOr<PositionErrors> FuseErrors(const std::vector<estimate::Gaussian<2>>& estimates,
                                          const LabelledPoints& points, const scene::RoomPlan& plan,
                                          const Mountings& mountings) {
  const std::size_t panels = points.walls.size();
  std::vector<workload::PanelPose> poses;
  for (std::size_t panel = 0; panel < panels; ++panel) {
    poses.push_back(PoseOf(plan, points.walls[panel], mountings[panel]));
  }
  PositionErrors errors;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<estimate::Gaussian<2>> in_site;
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const estimate::Gaussian<2>& own = estimates[i * panels + panel];
      const estimate::Matrix<2> rotation = Rotation(poses[panel].angle_deg);
      const estimate::Matrix<2> covariance = rotation * own.Covariance() * rotation.transpose();
      in_site.push_back({estimate::Vector<2>(poses[panel].x_m, poses[panel].y_m) + rotation * own.mean,
                         covariance.llt().matrixL()});
    }
    ASSIGN_OR_RETURN(const auto fused, estimate::Conflate<2>(in_site));
    errors.Add(fused, ToVector(points.positions[i]));
  }
  return errors;
}

}  // namespace tributary::cli
