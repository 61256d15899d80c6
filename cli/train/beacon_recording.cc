#include "cli/train/beacon_recording.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/failure.h"
#include "core/status/macros.h"

namespace tributary::cli {

absl::Status CheckPart(const RecordingPart& part) {
  if (part.start < part.end) return absl::OkStatus();
  return UsageError(absl::StrCat("--from ", part.start, " must be below --to ", part.end));
}

void AddRecordingOptions(Command& command, BeaconRecording::Files& files) {
  command
      .Text("--ranges", files.ranges, "FILE", "CSV of time and the ranges of the survey's anchors and tags")
      ->required();
  command.Text("--truth", files.truth, "FILE", "CSV of motion capture")->required();
  command.Text("--survey", files.survey, "FILE",
               "TOML with the hall's anchors and tags; the example recordings' hall if not given");
}

void AddPartOptions(Command& command, RecordingPart& part, const std::string& use) {
  command.Number("--from", part.start, "FRACTION", "Start of the part to " + use + ", as a fraction of time",
                 {0, 1});
  command.Number("--to", part.end, "FRACTION", "End of that part", {0, 1});
  command.Choice("--place", part.place,
                 {{"all", RecordingPlace::kAll},
                  {"west", RecordingPlace::kWest},
                  {"east", RecordingPlace::kEast},
                  {"south", RecordingPlace::kSouth},
                  {"north", RecordingPlace::kNorth}},
                 "Only rows in this half of the places where the tag was: x or y below or above its median");
}

absl::StatusOr<std::vector<int>> ParseNumbers(const std::string& text, const char* what, int count) {
  const std::vector<std::string> names = absl::StrSplit(text, ',');
  std::vector<int> numbers;
  for (const std::string& name : names) {
    int number = -1;
    const bool valid = absl::SimpleAtoi(name, &number) && number >= 0 && number < count;
    if (!valid || std::ranges::count(numbers, number) != 0) {
      return UsageError(absl::StrCat(what, " \"", text, "\": different ones of 0 to ", count - 1,
                                     " are expected, as 1,4,6"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<std::array<int, 3>> ParseAnchors(const std::string& text, int count) {
  ASSIGN_OR_RETURN(const std::vector<int> numbers, ParseNumbers(text, "anchors", count));
  std::array<int, 3> anchors = {};
  if (numbers.size() != anchors.size()) {
    return UsageError(absl::StrCat("anchors \"", text, "\": the network takes three, as 1,4,6"));
  }
  std::ranges::copy(numbers, anchors.begin());
  return anchors;
}

}  // namespace tributary::cli
