// The weighted sum of updates of 25 M parameters, against the read bandwidth that the same run measures.
//
// Bytes that the kernel touches per element: 4 of the update read, 4 of the sum read, 4 of the sum written.
// If the update's chunk is still in the cache, as right after its arrival, only the sum's 8 count.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "aggregator/learning/round/accumulator.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/update_encoding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/federation_accumulate_bench.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Reads everything; with four streams, so that the additions do not limit the speed.
float ReadAll(const float* values, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (std::size_t i = 0; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, values + i));
    b = hn::Add(b, hn::LoadU(d, values + i + lanes));
    c = hn::Add(c, hn::LoadU(d, values + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, values + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

}  // namespace HWY_NAMESPACE
}  // namespace tributary
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary {
namespace {

HWY_EXPORT(ReadAll);

constexpr std::size_t kElements = 25'000'000;
constexpr std::size_t kChunk = parameters::kMaxChunkBytes / sizeof(float);

std::vector<float> Update() {
  std::vector<float> values(kElements);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-38f;
  }
  return values;
}

void Report(benchmark::State& state, std::size_t bytes_per_element) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kElements * bytes_per_element));
}

void Read(benchmark::State& state) {
  const std::vector<float> values = Update();
  for (auto _ : state) benchmark::DoNotOptimize(HWY_DYNAMIC_DISPATCH(ReadAll)(values.data(), kElements));
  Report(state, sizeof(float));
}
BENCHMARK(Read)->Unit(benchmark::kMillisecond);

// One update, chunk by chunk. The source comes from memory, or is one chunk that stays in the cache.
void AddUpdate(benchmark::State& state, bool from_cache, int word_bits = 32) {
  const std::vector<float> values = Update();
  const std::span<const float> all = values;
  learning::Accumulator sum(kElements);
  sum.Start(*parameters::FixedPoint::For(8, 100'000, 100, word_bits));
  for (auto _ : state) {
    bool good = true;
    for (std::size_t offset = 0; offset < kElements; offset += kChunk) {
      const std::size_t count = std::min(kChunk, kElements - offset);
      good &= sum.Add(offset, all.subspan(from_cache ? 0 : offset, count), 1000).ok();
    }
    benchmark::DoNotOptimize(good);
  }
  const std::size_t word = static_cast<std::size_t>(word_bits) / 8;
  Report(state, (from_cache ? 0 : sizeof(float)) + 2 * word);
}
void Accumulate(benchmark::State& state) { AddUpdate(state, false); }
BENCHMARK(Accumulate)->Unit(benchmark::kMillisecond);
void AccumulateFromCache(benchmark::State& state) { AddUpdate(state, true); }
BENCHMARK(AccumulateFromCache)->Unit(benchmark::kMillisecond);
void AccumulateWide(benchmark::State& state) { AddUpdate(state, false, 64); }
BENCHMARK(AccumulateWide)->Unit(benchmark::kMillisecond);

// The other work on a received chunk: its checksum and its decoding. Bytes of the payload.
void Checksum(benchmark::State& state) {
  const std::string payload(parameters::kMaxChunkBytes, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(parameters::Crc32c(payload));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(payload.size()));
}
BENCHMARK(Checksum);

void Decode(benchmark::State& state) {
  const auto encoding = static_cast<parameters::UpdateEncoding>(state.range(0));
  const std::size_t count = parameters::ElementsPerChunk(encoding);
  std::vector<float> values = Update();
  values.resize(count);
  std::string payload;
  benchmark::DoNotOptimize(parameters::EncodeChunk(encoding, values, payload).ok());
  for (auto _ : state) {
    parameters::UpdateDecoder decoder(encoding, count);
    benchmark::DoNotOptimize(decoder.Decode(0, count, payload).ok());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(count));
}
BENCHMARK(Decode)->DenseRange(1, 4);

}  // namespace
}  // namespace tributary
#endif  // HWY_ONCE
