// Metadata, and behind a zero byte the data: what is read has bursts of the right size within the data.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/radio/burst.h"
#include "core/radio/sigmf_meta.h"
#include "core/radio/sigmf_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::radio;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const std::string_view json = input.substr(0, input.find('\0'));
  const auto meta = ParseSigmfMeta(json);
  if (!meta.ok()) {
    if (meta.status().message().empty()) std::abort();
    return 0;
  }
  if (meta->capture_starts.empty()) std::abort();
  const std::string_view data = json.size() == size ? std::string_view() : input.substr(json.size() + 1);
  const auto bursts = CutSigmfBursts(*meta, data);
  if (!bursts.ok()) return 0;
  const std::size_t samples = data.size() / SampleBytes(meta->datatype);
  if (bursts->empty() || bursts->size() % kBurstFeatures != 0 || bursts->size() > 2 * samples) std::abort();
  return 0;
}
