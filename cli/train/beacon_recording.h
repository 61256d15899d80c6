// The options of commands that read recorded ranges with their truth.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command.h"
#include "core/recordings/beacon_recording.h"

namespace tributary::cli {

using recordings::BeaconRecording;
using recordings::RecordingPart;
using recordings::RecordingPlace;

// UsageError: it has no length.
absl::Status CheckPart(const RecordingPart& part);

// --ranges, --truth, --survey.
void AddRecordingOptions(Command& command, BeaconRecording::Files& files);
// --from, --to, --place; `use`: what the part is for.
void AddPartOptions(Command& command, RecordingPart& part, const std::string& use);

// "1,4,6" to distinct numbers of 0 to count - 1, at least one. Errors: UsageError naming `what`.
absl::StatusOr<std::vector<int>> ParseNumbers(const std::string& text, const char* what, int count);

// Three different anchors. Errors: UsageError.
absl::StatusOr<std::array<int, 3>> ParseAnchors(const std::string& text, int count);

}  // namespace tributary::cli
