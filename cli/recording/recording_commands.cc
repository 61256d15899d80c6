// `tributary recording move-anchor|samples`: recordings to try learning on a board with.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/recording/moved_recording.h"
#include "cli/train/beacon_recording.h"
#include "core/runtime/clock.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

struct MoveAnchorArguments {
  BeaconRecording::Files files;
  int anchor = 0;
  std::string by;
  std::vector<std::string> stretches;
  std::string out_ranges = "moved-ranges.csv";
  std::string out_truth = "moved-truth.csv";
  bool json = false;
};

absl::StatusOr<std::array<double, 2>> ParseMove(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  std::array<double, 2> move = {};
  bool good = parts.size() == move.size();
  for (std::size_t i = 0; good && i < move.size(); ++i) {
    good = absl::SimpleAtod(parts[i], &move[i]) && std::abs(move[i]) <= 1e3;
  }
  if (good) return move;
  return UsageError(fmt::format("--by \"{}\": expected x and y in m, as 0.4,-0.2", text));
}

absl::StatusOr<RecordingStretch> ParseStretch(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  RecordingStretch stretch;
  const bool good = (parts.size() == 2 || (parts.size() == 3 && parts[2] == "moved")) &&
                    absl::SimpleAtod(parts[0], &stretch.part.start) &&
                    absl::SimpleAtod(parts[1], &stretch.part.end) && stretch.part.start >= 0 &&
                    stretch.part.start < stretch.part.end && stretch.part.end <= 1;
  stretch.moved = parts.size() == 3;
  if (good) return stretch;
  return UsageError(fmt::format(
      "--stretch \"{}\": expected two fractions of the recording's time, as 0.5,1 or 0,0.5,moved", text));
}

absl::Status MoveAnchorOf(const MoveAnchorArguments& arguments) {
  std::vector<RecordingStretch> stretches;
  for (const std::string& each : arguments.stretches) {
    ASSIGN_OR_RETURN(stretches.emplace_back(), ParseStretch(each));
  }
  AnchorMove move{.anchor = arguments.anchor};
  ASSIGN_OR_RETURN(move.by_m, ParseMove(arguments.by));
  const std::vector<std::string> read = {arguments.files.ranges, arguments.files.truth,
                                         arguments.files.survey};
  RETURN_IF_ERROR(CheckOutput(arguments.out_ranges, read));
  RETURN_IF_ERROR(CheckOutput(arguments.out_truth, read));
  ASSIGN_OR_RETURN(const BeaconRecording recording, BeaconRecording::Load(arguments.files));
  if (move.anchor >= recording.anchors()) {
    return UsageError(
        fmt::format("--anchor {}: the survey has anchors 0 to {}", move.anchor, recording.anchors() - 1));
  }
  ASSIGN_OR_RETURN(const std::string ranges, runtime::ReadFile(arguments.files.ranges));
  ASSIGN_OR_RETURN(const std::string truth, runtime::ReadFile(arguments.files.truth));
  ASSIGN_OR_RETURN(const MovedRecording made, MoveAnchor(ranges, truth, recording, stretches, move));
  RETURN_IF_ERROR(WriteOutput(arguments.out_ranges, made.ranges));
  RETURN_IF_ERROR(WriteOutput(arguments.out_truth, made.truth));
  nlohmann::ordered_json json = {{"ranges", arguments.out_ranges}, {"truth", arguments.out_truth}};
  for (const MovedRecording::Stretch& each : made.stretches) {
    json["stretches"].push_back({{"begin_unix_ns", each.begin_unix_ns},
                                 {"end_unix_ns", each.end_unix_ns},
                                 {"moved", each.moved},
                                 {"rows", each.rows}});
    if (!arguments.json) {
      std::cout << fmt::format("{:.1f} s, {}{}\n",
                               1e-9 * static_cast<double>(each.end_unix_ns - each.begin_unix_ns),
                               runtime::Counted(each.rows, "row"),
                               each.moved ? fmt::format(", anchor {} moved", move.anchor) : "");
    }
  }
  if (arguments.json) {
    std::cout << json.dump() << "\n";
  } else {
    std::cout << fmt::format("written to {} and {}\n", runtime::Printable(arguments.out_ranges),
                             runtime::Printable(arguments.out_truth));
  }
  return absl::OkStatus();
}

struct SamplesArguments {
  BeaconRecording::Files files;
  std::string anchors;
  int tag = 0;
  RecordingPart part;
  std::size_t every = 1;
  double speed = 0;
  std::uint64_t start_unix_ns = 0;
};

absl::Status PrintSamples(const SamplesArguments& arguments) {
  RETURN_IF_ERROR(CheckPart(arguments.part));
  ASSIGN_OR_RETURN(const BeaconRecording recording, BeaconRecording::Load(arguments.files));
  ASSIGN_OR_RETURN(const auto anchors, ParseAnchors(arguments.anchors, recording.anchors()));
  ASSIGN_OR_RETURN(const auto tags, ParseNumbers(fmt::format("{}", arguments.tag), "tag", recording.tags()));
  const auto examples = recording.Examples(anchors, arguments.tag, arguments.part);
  // Beside a node that plays the same part: the first row of the part is due at the start.
  const std::size_t first = recording.ranges.RowAtFraction(arguments.part.start);
  const runtime::SystemClock clock;
  const std::int64_t start_ns =
      arguments.start_unix_ns > 0 ? static_cast<std::int64_t>(arguments.start_unix_ns) : clock.UnixNs();
  for (std::size_t i = 0; i < examples.size(); i += arguments.every) {
    const nn::BeaconExample& each = examples[i];
    if (arguments.speed > 0) {
      const double since_ns = static_cast<double>(each.unix_ns - recording.ranges.unix_ns(first));
      clock.SleepUntil(start_ns + static_cast<std::int64_t>(since_ns / arguments.speed), {});
    }
    const auto [a, b, c] = each.ranges_m;
    const std::string line = fmt::format("{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", each.unix_ns, a, b, c,
                                         each.position_m[0], each.position_m[1]);
    std::fputs(line.c_str(), stdout);
    if (arguments.speed > 0) std::fflush(stdout);
    if (std::ferror(stdout) != 0) break;  // main says so
  }
  return absl::OkStatus();
}

}  // namespace

void AddRecordingMoveAnchorCommand(Commands& recording) {
  auto [command, arguments] = recording.Add<MoveAnchorArguments>(
      "move-anchor", "Put stretches of a recording one after the other, some with an anchor moved",
      MoveAnchorOf);
  AddRecordingOptions(command, arguments.files);
  command.Number("--anchor", arguments.anchor, "N", "Number of the anchor that is moved",
                 {0, scene::Survey::kMaxAnchors - 1});
  command.Text("--by", arguments.by, "X,Y", "How far it is moved, in m")->required();
  command
      .Texts("--stretch", arguments.stretches, "FROM,TO[,moved]",
             "Part of the recording by fractions of its time; given again: what comes next")
      ->required();
  command.Text("--out-ranges", arguments.out_ranges, "FILE", "Ranges to write");
  command.Text("--out-truth", arguments.out_truth, "FILE", "Motion capture to write");
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary recording move-anchor --ranges ranges.csv --truth truth.csv --anchor 1 --by "
      "0.4,0.2 --stretch 0.5,1 --stretch 0,0.5,moved");
}

void AddRecordingSamplesCommand(Commands& recording) {
  auto [command, arguments] = recording.Add<SamplesArguments>(
      "samples", "Print labelled ranges, from which a node's panel learns ([panel.retraining])",
      PrintSamples);
  AddRecordingOptions(command, arguments.files);
  command.Text("--anchors", arguments.anchors, "N,N,N", "Numbers of the board's anchors")->required();
  command.Number("--tag", arguments.tag, "N", "Number of the tag", {0, scene::Survey::kMaxTags - 1});
  AddPartOptions(command, arguments.part, "print");
  command.Number("--every", arguments.every, "N", "Print each Nth sample only", {1, 1'000'000});
  command.Number("--speed", arguments.speed, "N", "Times the recorded pace (0 = as fast as it can)",
                 {0, 1e6});
  command.Number("--start-unix-ns", arguments.start_unix_ns, "NS",
                 "When the first row of the part is due, as start_unix_ns of a node's source (0 = now)",
                 {0, std::numeric_limits<std::int64_t>::max()});
  command.Examples(
      "Examples:\n  tributary recording samples --ranges ranges.csv --truth truth.csv --anchors 1,3,5 "
      "--speed "
      "1 >> samples.csv\n  tributary recording samples --ranges ranges.csv --truth truth.csv --anchors 1,3,5 "
      "--every 100 |\n    curl -H Content-Type:text/csv --data-binary @- "
      "http://127.0.0.1:7481/api/v1/panels/walls/samples\n\n"
      "Each line is unix_ns,range,range,range,x,y in m.");
}

}  // namespace tributary::cli
