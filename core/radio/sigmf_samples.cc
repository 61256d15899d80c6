#include "core/radio/sigmf_samples.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/radio/burst.h"
#include "core/status/macros.h"

namespace tributary::radio {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are read as they stand in the file");

std::string Sha512(std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha512(), nullptr);
  std::string text;
  for (unsigned k = 0; k < size; ++k) text += fmt::format("{:02x}", digest[k]);
  return text;
}

absl::Status CheckAgainstMeta(const SigmfMeta& meta, std::string_view data) {
  const std::size_t sample_bytes = SampleBytes(meta.datatype);
  if (data.size() % sample_bytes != 0) {
    return absl::DataLossError(fmt::format("data: {} bytes are not a whole number of samples of {} bytes",
                                           data.size(), sample_bytes));
  }
  const std::uint64_t samples = data.size() / sample_bytes;
  if (meta.capture_starts.back() >= samples) {
    return absl::InvalidArgumentError(
        fmt::format("captures[{}].core:sample_start: {}, the data has {} samples",
                    meta.capture_starts.size() - 1, meta.capture_starts.back(), samples));
  }
  if (meta.annotated_samples > samples) {
    return absl::InvalidArgumentError(
        fmt::format("annotations: end at sample {}, the data has {}", meta.annotated_samples, samples));
  }
  if (meta.sha512.empty()) return absl::OkStatus();
  const std::string found = Sha512(data);
  if (found == meta.sha512) return absl::OkStatus();
  return absl::DataLossError(fmt::format("global.core:sha512: {}…, the data has {}…",
                                         meta.sha512.substr(0, 16), found.substr(0, 16)));
}

template <typename Component>
void AppendBurst(const char* data, float scale, std::vector<float>& bursts) {
  std::array<Component, kBurstFeatures> interleaved;
  std::memcpy(interleaved.data(), data, sizeof(interleaved));
  for (const std::size_t part : {0, 1}) {
    for (std::size_t n = 0; n < kBurstSamples; ++n) {
      bursts.push_back(scale * static_cast<float>(interleaved[2 * n + part]));
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<float>> CutSigmfBursts(const SigmfMeta& meta, std::string_view data) {
  RETURN_IF_ERROR(CheckAgainstMeta(meta, data));
  const std::size_t sample_bytes = SampleBytes(meta.datatype);
  const std::uint64_t samples = data.size() / sample_bytes;
  std::vector<float> bursts;
  bursts.reserve(2 * samples);
  for (std::size_t k = 0; k < meta.capture_starts.size(); ++k) {
    const bool last = k + 1 == meta.capture_starts.size();
    const std::uint64_t end = last ? samples : meta.capture_starts[k + 1];
    for (std::uint64_t n = meta.capture_starts[k]; n + kBurstSamples <= end; n += kBurstSamples) {
      const char* first = data.data() + n * sample_bytes;
      if (meta.datatype == SigmfDatatype::kCf32) {
        AppendBurst<float>(first, 1, bursts);
      } else {
        AppendBurst<std::int16_t>(first, 1.0f / 32768, bursts);
      }
    }
  }
  if (!bursts.empty()) return bursts;
  return absl::InvalidArgumentError(
      fmt::format("captures: none of {} samples, which a burst has", kBurstSamples));
}

}  // namespace tributary::radio
