// The metadata of a SigMF recording: a .sigmf-meta file, versions 0 and 1. Pure over bytes; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::radio {

enum class SigmfDatatype : std::uint8_t { kCf32, kCi16 };

constexpr std::size_t SampleBytes(SigmfDatatype datatype) {
  return datatype == SigmfDatatype::kCf32 ? 2 * sizeof(float) : 2 * sizeof(std::int16_t);
}

struct SigmfMeta {
  SigmfDatatype datatype = SigmfDatatype::kCf32;
  double sample_rate_hz = 0;                  // 0: not given
  std::vector<std::uint64_t> capture_starts;  // ascending, at least one
  std::uint64_t annotated_samples = 0;        // the end of the last annotation
  std::string sha512;                         // of the data, in lower case; empty: not given
};

// Longer or deeper texts are refused before they are parsed.
inline constexpr std::size_t kMaxSigmfMetaBytes = std::size_t{1} << 20;
inline constexpr int kMaxSigmfMetaDepth = 16;

// Takes one channel of cf32_le or ci16_le in a dataset without headers, footers or an offset. Keys of other
// namespaces are ignored. Errors begin with the field, e.g. "global.core:datatype: …": DataLoss for text that
// is not JSON or too long or deep, InvalidArgument for fields that are missing, wrong or not supported.
absl::StatusOr<SigmfMeta> ParseSigmfMeta(std::string_view json);

// The path of the samples for that of the metadata: NAME.sigmf-data for NAME.sigmf-meta. Empty for another
// path.
std::string SigmfDataFile(std::string_view metadata_file);

}  // namespace tributary::radio
