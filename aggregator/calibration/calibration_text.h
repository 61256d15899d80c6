// The text of a calibration's file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "aggregator/fusion/calibration_record.h"

namespace tributary::calibration {

// EncodeCalibration gives some 30 kB for 16 sources, 60 kB if their names are as long as can be.
inline constexpr std::size_t kMostBytes = std::size_t{128} << 10;

// How each such file begins.
inline constexpr std::string_view kFirstWords = "crc32c = \"";

// TOML, with a checksum in its first line. Numbers are read back as the same bits.
std::string EncodeCalibration(const fusion::CalibrationRecord& record);

// `path` is named in errors. DataLoss: the checksum is another. FailedPrecondition: the format of another
// release. InvalidArgument, with a line for each fault: line and key. Whether the numbers make sense together
// is for FusionEngine::RestoreCalibration to say.
absl::StatusOr<fusion::CalibrationRecord> DecodeCalibration(std::string_view text, std::string_view path);

// `body` with the checksum in front.
std::string WithChecksum(std::string_view body);

}  // namespace tributary::calibration
