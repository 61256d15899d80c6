// Lines, fields and time stamps of the recordings' CSV files, with errors that name line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::scene {

// Parses "2022-08-15 9:42:24.766" (hours may have one digit, up to nine decimals of the second) as UTC, to
// nanoseconds since the Unix epoch. nullopt for anything else.
std::optional<std::int64_t> ParseRecordingTime(std::string_view text);

// A finite decimal number filling the whole field.
std::optional<double> ParseNumber(std::string_view text);

// Fields of one line, without the line's end. Views into `line`.
std::vector<std::string_view> SplitFields(std::string_view line);

// Removes the next line from `rest`; "
// " and "\r
// " end lines, an unfinished last line counts.
std::string_view TakeLine(std::string_view& rest);

// InvalidArgument: "line 12, column 3 (a0-t1): expected a range in m, found \"x\"". line and column count
// from 1.
absl::Status FieldError(std::size_t line, std::size_t column, std::string_view name,
                        std::string_view expected, std::string_view found);

}  // namespace tributary::scene
