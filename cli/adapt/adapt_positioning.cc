// `tributary adapt positioning`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cli/adapt/labelled_points.h"
#include "cli/adapt/method_comparison.h"
#include "cli/adapt/room_adaptation.h"
#include "cli/adapt/room_arguments.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/table.h"
#include "core/nn/kernel/random_stream.h"
#include "core/recordings/labelled_positions.h"
#include "core/runtime/printable.h"
#include "core/scene/gaussian_noise.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr double kGhz = 1e9;
constexpr std::size_t kJudgedShare = 5;  // of a recording: one point of so many judges the result
constexpr std::uint64_t kLabelledUsers = 1, kJudgedUsers = 2, kHiddenRoom = 3, kRoomPlans = 4;

struct AdaptArguments {
  std::string model;
  std::string out = "adapted.safetensors";
  std::string name;
  RoomArguments room;
  std::vector<std::string> panels;
  double carrier_ghz = scene::kCarrierHz / kGhz;
  std::uint64_t labelled = 0;  // 0: all of a recording, 100 of a simulation
  bool simulate = false;
  std::uint64_t rooms = 0;
  std::uint64_t seeds = 1;
  std::uint64_t judged = 1'000;
  std::string features, positions;
  AdaptationOptions adaptation;
  bool json = false;
};

void PrintAdaptationProgress(std::string_view stage, std::uint64_t done, std::uint64_t all, double loss) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%s%-12s  step %6llu/%llu  loss %8.3f%s", terminal ? "\r" : "",
               std::string(stage).c_str(), static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(all), loss, terminal && done < all ? "" : "\n");
}

scene::RoomExamples SimulatedRoom(const scene::RoomPlan& plan, std::uint64_t seed, std::uint64_t users,
                                  std::uint64_t purpose) {
  return {scene::MixBits(users, purpose), scene::RoomConditions::OfOneRoom(scene::MixBits(seed, kHiddenRoom)),
          plan};
}

MeasuredPoints Simulate(const AdaptArguments& arguments, const scene::RoomPlan& plan,
                        const std::vector<scene::Wall>& walls, std::uint64_t room_seed,
                        std::size_t labelled) {
  const std::uint64_t seed = arguments.adaptation.seed;
  return {SimulatePoints(SimulatedRoom(plan, room_seed, scene::MixBits(room_seed, seed), kLabelledUsers),
                         walls, labelled),
          SimulatePoints(SimulatedRoom(plan, room_seed, room_seed, kJudgedUsers), walls, arguments.judged)};
}

// One point in five judges, so that the labelled ones stay unseen.
absl::StatusOr<MeasuredPoints> ReadMeasured(const AdaptArguments& arguments,
                                            const std::vector<scene::Wall>& walls) {
  ASSIGN_OR_RETURN(const LabelledPoints all,
                   ReadLabelledPoints(arguments.features, arguments.positions, walls, arguments.room.plan));
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  nn::RandomStream random(scene::MixBits(arguments.adaptation.seed, kJudgedUsers));
  random.Shuffle(order);
  const std::size_t judged = std::max<std::size_t>(1, all.size() / kJudgedShare);
  const std::size_t rest = all.size() - judged;
  const std::size_t labelled = arguments.labelled == 0 ? rest : arguments.labelled;
  if (labelled > rest) {
    return absl::InvalidArgumentError(fmt::format(
        "--labelled {}: {} has {} points, of which {} are kept to judge the result; give {} at most",
        labelled, arguments.features, all.size(), judged, rest));
  }
  return MeasuredPoints{all.Subset(std::span(order).subspan(judged, labelled)),
                        all.Subset(std::span(order).first(judged))};
}

std::string RoomText(const scene::RoomPlan& plan) {
  return fmt::format("{:.2f} x {:.2f} x {:.2f} m, {:.3f} GHz", plan.width_m, plan.depth_m, plan.height_m,
                     plan.carrier_hz / kGhz);
}

absl::Status AdaptToRoom(const AdaptArguments& arguments) {
  RETURN_IF_ERROR(CheckOutput(arguments.out, {arguments.features, arguments.positions, arguments.model}));
  ASSIGN_OR_RETURN(const auto base, LoadPositioningModel(arguments.model));
  const scene::RoomPlan& plan = arguments.room.plan;
  const std::vector<scene::Wall>& walls = arguments.room.walls;
  const std::uint64_t seed = arguments.adaptation.seed;
  MeasuredPoints measured;
  if (arguments.simulate) {
    measured = Simulate(arguments, plan, walls, seed, arguments.labelled == 0 ? 100 : arguments.labelled);
  } else {
    ASSIGN_OR_RETURN(measured, ReadMeasured(arguments, walls));
  }
  ASSIGN_OR_RETURN(const auto planned,
                   LearnPlan(base.network, plan, walls, arguments.adaptation, PrintAdaptationProgress));
  ASSIGN_OR_RETURN(auto result, CompareMethods(base.network, planned, plan, measured, arguments.adaptation,
                                               PrintAdaptationProgress));
  nn::PositioningNetwork& network = result.first.network;
  network.name = arguments.name.empty() ? base.network.name + "-adapted" : arguments.name;
  network.training_set = fmt::format(
      "{}; then adapted from sha256 {} to a room of {}: {} steps of {} simulated users, then {} labelled "
      "points "
      "({}), seed {}",
      base.network.training_set, base.network.sha256, RoomText(plan), arguments.adaptation.plan_steps,
      arguments.adaptation.batch, measured.labelled.size(),
      arguments.simulate ? "simulated" : std::filesystem::path(arguments.features).filename().string(), seed);
  const std::string file = nn::EncodePositioning(network);
  // Gives the identity, and checks what is about to be written.
  ASSIGN_OR_RETURN(const auto written, nn::DecodePositioning(file));
  RETURN_IF_ERROR(WriteOutput(arguments.out, file));

  nlohmann::ordered_json poses = nlohmann::ordered_json::array();
  std::string pose_lines;
  for (std::size_t panel = 0; panel < walls.size(); ++panel) {
    const scene::PanelMounting& hung = result.first.mountings[panel];
    const workload::PanelPose pose = PoseOf(plan, walls[panel], hung);
    poses.push_back({{"wall", scene::WallName(walls[panel])},
                     {"x_m", pose.x_m},
                     {"y_m", pose.y_m},
                     {"orientation_deg", pose.angle_deg}});
    pose_lines += fmt::format("  {:5}  x_m = {:.4f}, y_m = {:.4f}, orientation_deg = {:.3f}\n",
                              scene::WallName(walls[panel]), pose.x_m, pose.y_m, pose.angle_deg);
  }
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"model", arguments.out},
                                        {"sha256", written.sha256},
                                        {"base_sha256", base.network.sha256},
                                        {"labelled", measured.labelled.size()},
                                        {"judged", measured.judged.size()},
                                        {"covariance_scale", written.covariance_scale},
                                        {"methods", ToJson(result.second)},
                                        {"poses", poses}}
                     .dump()
              << "\n";
    return absl::OkStatus();
  }
  std::cout << fmt::format("{}; {} labelled, {} to judge; {} fused, errors in cm, ideal NEES 2\n",
                           RoomText(plan), runtime::Counted(measured.labelled.size(), "point"),
                           measured.judged.size(), runtime::Counted(walls.size(), "panel"));
  PrintCompared(result.second);
  std::cout << fmt::format("Pose of each panel, for [[panel]] of its node:\n{}{}: sha256 {}\n", pose_lines,
                           runtime::Printable(arguments.out), written.sha256);
  return absl::OkStatus();
}

// All sets of points of one room. Errors: as Compare.
absl::Status StudyRoom(const AdaptArguments& arguments, const nn::PositioningNetwork& base,
                       std::uint64_t room, std::map<std::size_t, std::vector<Compared>>& results,
                       nlohmann::ordered_json& json) {
  const std::vector<scene::Wall>& walls = arguments.room.walls;
  const std::uint64_t room_seed = scene::MixBits(kRoomPlans, room);
  const scene::RoomPlan plan = scene::DrawRoomPlan(room_seed);
  std::fprintf(stderr, "room %llu of %llu: %s\n", static_cast<unsigned long long>(room + 1),
               static_cast<unsigned long long>(arguments.rooms), RoomText(plan).c_str());
  json = {{"room", RoomText(plan)}};
  ASSIGN_OR_RETURN(const auto planned,
                   LearnPlan(base, plan, walls, arguments.adaptation, PrintAdaptationProgress));
  for (auto& [labelled, compared] : results) {
    for (std::uint64_t seed = 0; seed < arguments.seeds; ++seed) {
      AdaptArguments drawn = arguments;
      drawn.adaptation.seed += seed;
      const MeasuredPoints measured = Simulate(drawn, plan, walls, room_seed, labelled);
      ASSIGN_OR_RETURN(const auto result, CompareMethods(base, planned, plan, measured, drawn.adaptation,
                                                         PrintAdaptationProgress));
      compared.push_back(result.second);
      json["labelled"][std::to_string(labelled)].push_back(ToJson(result.second));
      if (arguments.json) continue;
      std::cout << fmt::format("room {}: {}, {}, seed {}\n", room + 1, RoomText(plan),
                               runtime::Counted(labelled, "labelled point"), drawn.adaptation.seed);
      PrintCompared(result.second);
      std::cout << std::flush;
    }
  }
  return absl::OkStatus();
}

// The figures of one method over all rooms and seeds.
struct OverRooms {
  double mean_m = 0, p90_m = 0, nees = 0;  // means
  double worst_m = 0, least_nees = std::numeric_limits<double>::infinity(), most_nees = 0;
};

OverRooms Summarise(const std::vector<Compared>& results, ErrorFigures Compared::*method) {
  OverRooms over;
  const double share = 1.0 / static_cast<double>(results.size());
  for (const Compared& compared : results) {
    const ErrorFigures& figures = compared.*method;
    over.mean_m += share * figures.mean_m;
    over.p90_m += share * figures.p90_m;
    over.nees += share * figures.nees;
    over.worst_m = std::max(over.worst_m, figures.mean_m);
    over.least_nees = std::min(over.least_nees, figures.nees);
    over.most_nees = std::max(over.most_nees, figures.nees);
  }
  return over;
}

void PrintStudy(const AdaptArguments& arguments,
                const std::map<std::size_t, std::vector<Compared>>& results) {
  const Table table({Left("method", 36), Right("points"), Right("mean", 8), Right("worst", 8),
                     Right("p90", 8), Right("NEES", 8), Right("least", 8), Right("most", 8)});
  std::cout << fmt::format("{}, {} each; errors in cm: means, and the worst mean of a room\n{}\n",
                           runtime::Counted(arguments.rooms, "room"),
                           runtime::Counted(arguments.seeds, "seed"), table.Heading());
  const auto two = [](double value) { return fmt::format("{:.2f}", value); };
  for (const auto& [labelled, all] : results) {
    for (const ComparedMethod& row : kComparedMethods) {
      const OverRooms over = Summarise(all, row.figures);
      std::cout << table.Row(row.text, labelled, TextInCm(over.mean_m), TextInCm(over.worst_m),
                             TextInCm(over.p90_m), two(over.nees), two(over.least_nees), two(over.most_nees))
                << "\n";
    }
    const auto third = std::ranges::count_if(all, [](const Compared& compared) {
      return 3 * compared.adapted.mean_m <= compared.unadapted.mean_m;
    });
    const auto below = std::ranges::count_if(
        all, [](const Compared& compared) { return compared.adapted.mean_m < compared.from_nothing.mean_m; });
    std::cout << fmt::format(
        "{} labelled points: adapted has at most a third of the unadapted error in {} of {} runs, and less "
        "than "
        "from nothing in {}\n",
        labelled, third, all.size(), below);
  }
}

// Rooms drawn at random, each with the same numbers of labelled points.
absl::Status StudyRooms(const AdaptArguments& arguments) {
  ASSIGN_OR_RETURN(const auto base, LoadPositioningModel(arguments.model));
  std::map<std::size_t, std::vector<Compared>> results;
  if (arguments.labelled != 0) {
    results[arguments.labelled];
  } else {
    for (const std::size_t labelled : {50, 100, 500}) results[labelled];
  }
  nlohmann::ordered_json json = {{"base_sha256", base.network.sha256},
                                 {"rooms", nlohmann::ordered_json::array()}};
  for (std::uint64_t room = 0; room < arguments.rooms; ++room) {
    nlohmann::ordered_json& of_room = json["rooms"].emplace_back();
    RETURN_IF_ERROR(StudyRoom(arguments, base.network, room, results, of_room));
  }
  if (arguments.json) {
    std::cout << json.dump() << "\n";
  } else {
    PrintStudy(arguments, results);
  }
  return absl::OkStatus();
}

absl::Status CheckAdaptArguments(AdaptArguments& arguments) {
  const bool recorded = !arguments.features.empty() || !arguments.positions.empty();
  if (arguments.features.empty() != arguments.positions.empty()) {
    return UsageError("--features and --positions belong together");
  }
  if (int{recorded} + int{arguments.simulate} + int{arguments.rooms > 0} != 1) {
    return UsageError("give one of --features with --positions, --simulate, and --rooms");
  }
  if (arguments.labelled != 0 && arguments.labelled < kFewestLabelledPoints) {
    return UsageError(fmt::format("--labelled {}: at least {} points are needed, better 100",
                                  arguments.labelled, kFewestLabelledPoints));
  }
  arguments.room.plan.carrier_hz = arguments.carrier_ghz * kGhz;
  for (const std::string& panel : arguments.panels) {
    if (const std::string fault = ReadPanelPlace(panel, arguments.room); !fault.empty())
      return UsageError(fault);
  }
  if (const std::string fault = CheckRoom(arguments.room); !fault.empty()) return UsageError(fault);
  if (arguments.room.walls.empty()) {
    arguments.room.walls = {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth, scene::Wall::kWest};
  }
  return absl::OkStatus();
}

absl::Status AdaptPositioning(const AdaptArguments& given) {
  AdaptArguments arguments = given;
  RETURN_IF_ERROR(CheckAdaptArguments(arguments));
  return arguments.rooms > 0 ? StudyRooms(arguments) : AdaptToRoom(arguments);
}

}  // namespace

void AddAdaptPositioningCommand(Commands& adapt) {
  auto [command, arguments] = adapt.Add<AdaptArguments>(
      "positioning", "Fit the positioning network to a room: its plan, then some labelled points",
      AdaptPositioning);
  AdaptationOptions& adaptation = arguments.adaptation;
  RoomArguments& room = arguments.room;
  command.Text("--model", arguments.model, "FILE", "Model to start from; default: the shipped model");
  command.Text("--out", arguments.out, "FILE", "Model file to write");
  command.Value("--room", "WxDxH", "Width along x, depth along y and height of the room, m", "10x10x3",
                [&room](const std::string& text) { return ReadRoomSize(text, room.plan); });
  command.Number("--carrier-ghz", arguments.carrier_ghz, "GHZ", "Carrier", {0.5, 100});
  command.Texts(
      "--panel", arguments.panels, "WALL,ALONG,HEIGHT",
      "Where a panel hangs: its wall, its place along the wall (x or y) and its height, m. Once for each "
      "panel, in the order of the features; default: the middle of all four walls, 2 m high");
  command.Text("--features", arguments.features, "FILE",
               ".npy file of float32 [points, panels, 1024]: raw features of every panel at each point");
  command.Text("--positions", arguments.positions, "FILE",
               "CSV file of the points' true x,y, m; the origin is the room's centre");
  command.Flag("--simulate", arguments.simulate, "Draw the points in a simulated room of this plan instead");
  command.Number("--rooms", arguments.rooms, "N",
                 "Measure the method in so many simulated rooms drawn at random instead; writes no model",
                 {0, 1'000});
  command.Number("--seeds", arguments.seeds, "N", "With --rooms: sets of points in each room", {1, 1'000});
  command.Number(
      "--labelled", arguments.labelled, "N",
      "Labelled points to use; 0: all of --features, 100 of --simulate; 50, 100 and 500 with --rooms",
      {0, recordings::kMostLabelledPoints});
  command.Number("--judged", arguments.judged, "N", "Other points that judge the result of a simulation",
                 {10, 1'000'000});
  command.Number("--plan-steps", adaptation.plan_steps, "N", "Training steps on the simulated plan",
                 {10, 10'000'000});
  command.Number("--point-steps", adaptation.point_steps, "N", "Training steps on the labelled points",
                 {10, 1'000'000});
  command.Number("--scratch-steps", adaptation.scratch_steps, "N",
                 "Training steps of the methods that see the points alone", {10, 1'000'000});
  command.Number("--plan-rate", adaptation.plan_rate, "RATE", "Highest learning rate on the plan",
                 {1e-6, 1.0});
  command.Number("--point-rate", adaptation.point_rate, "RATE", "Highest learning rate on the points",
                 {1e-6, 1.0});
  command.Number("--scratch-rate", adaptation.scratch_rate, "RATE",
                 "Highest learning rate of the methods that see the points alone", {1e-6, 1.0});
  command.Number("--seed", adaptation.seed, "N", "Equal seeds give equal models on equal processors");
  command.Number("--threads", adaptation.threads, "N", "Threads (2 = a second thread draws the users)",
                 {1, 2});
  command.Text("--name", arguments.name, "NAME",
               "Name of the model; default: that of the base with -adapted");
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n"
      "  tributary adapt positioning --features points.npy --positions points.csv --room 10x8x3 --plan-steps "
      "300\n"
      "  tributary adapt positioning --simulate --room 12x8x3 --labelled 50 --plan-steps 300 --out "
      "room.safetensors\n"
      "  tributary adapt positioning --rooms 1 --labelled 50 --plan-steps 300 --judged 100\n\n"
      "These are quick and coarse: leave --plan-steps out for a minute or two of training on the plan. One "
      "point\n"
      "in five of a recording is kept to judge the result.");
}

}  // namespace tributary::cli
