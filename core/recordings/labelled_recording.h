// Recorded bursts whose modulation somebody knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/recordings/labelled_bursts.h"

namespace tributary::recordings {

// One name of radio::kModulations a line, in any letters; spaces around it and empty lines at the end do not
// count. Errors: InvalidArgument, naming the line.
absl::StatusOr<std::vector<std::uint8_t>> ParseLabels(std::string_view text);

// Bursts as ReadBursts takes them, and a label for each. Errors: those of ReadBursts and ParseLabels, naming
// the file; InvalidArgument for fewer or more labels than bursts.
absl::StatusOr<LabelledBursts> ReadLabelledRecording(const std::string& iq, const std::string& labels);

}  // namespace tributary::recordings
