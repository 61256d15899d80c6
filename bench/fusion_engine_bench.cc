// The engine flat out on one thread: four panels, 16 subjects, slot after slot.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "aggregator/fusion/engine.h"
#include "core/estimate/random_gaussian_fixture.h"

namespace tributary {
namespace {

constexpr std::size_t kPanels = 4;
constexpr std::uint32_t kSubjects = 16;

estimate::TupleFrame RandomFrame(std::mt19937_64& random, std::uint32_t subjects) {
  estimate::TupleFrame frame;
  for (std::uint32_t i = 0; i < subjects; ++i) {
    estimate::Gaussian<2> tuple = estimate::RandomGaussian<2>(random, 10, 0.02, 0.001);
    frame.subjects.push_back(i);
    for (int k = 0; k < 2; ++k) frame.means.push_back(static_cast<float>(tuple.mean[k]));
    for (const double element : {tuple.cholesky(0, 0), tuple.cholesky(1, 0), tuple.cholesky(1, 1)}) {
      frame.cholesky.push_back(static_cast<float>(element));
    }
  }
  return frame;
}

void Run(benchmark::State& state, const fusion::FusionTuning& tuning, bool agreeing) {
  fusion::SiteConfig site;
  site.name = "bench";
  site.leaves = {"n", "e", "s", "w"};
  site.max_age_ns.reset();
  site.max_lead_ns.reset();
  site.tuning = tuning;
  const auto engine = *fusion::FusionEngine::Create(site);
  std::mt19937_64 random(1);
  std::array<estimate::TupleFrame, kPanels> frames;
  std::array<fusion::SourceHandle, kPanels> sources;
  for (std::size_t panel = 0; panel < kPanels; ++panel) {
    sources[panel] = *engine->Join({site.leaves[panel], 2, {site.leaves[panel]}});
    frames[panel] = RandomFrame(random, kSubjects);
    if (!agreeing) frames[panel].subjects[panel] = kSubjects + static_cast<std::uint32_t>(panel);
  }
  fusion::FusedSlots out;
  estimate::Epoch epoch = 1;
  for (auto _ : state) {
    out.Clear();
    const fusion::FusionTime now = {estimate::SlotLength().StartNs(epoch),
                                    estimate::SlotLength().StartNs(epoch)};
    for (std::size_t panel = 0; panel < kPanels; ++panel) {
      frames[panel].epoch = epoch;
      const fusion::OfferResult result = engine->Offer(sources[panel], frames[panel], now, out);
      benchmark::DoNotOptimize(result.accepted);
    }
    ++epoch;
  }
  if (engine->counters().slots_complete != epoch - 1) state.SkipWithError("slots were not complete");
  const auto tuples = static_cast<double>(state.iterations()) * kPanels * kSubjects;
  state.SetItemsProcessed(static_cast<std::int64_t>(tuples));
  state.counters["ns_per_tuple"] =
      benchmark::Counter(tuples * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Engine(benchmark::State& state) { Run(state, fusion::FusionTuning(), true); }
BENCHMARK(Engine);

void EngineWithDifferentSubjects(benchmark::State& state) { Run(state, fusion::FusionTuning(), false); }
BENCHMARK(EngineWithDifferentSubjects);

void EngineWithRevisions(benchmark::State& state) {
  fusion::FusionTuning tuning;
  tuning.late = fusion::LatePolicy::kRevise;
  Run(state, tuning, true);
}
BENCHMARK(EngineWithRevisions);

void EngineWithGate(benchmark::State& state) {
  fusion::FusionTuning tuning;
  tuning.gate_probability = 0.999999;
  Run(state, tuning, true);
}
BENCHMARK(EngineWithGate);

void EngineWithTracks(benchmark::State& state) {
  fusion::FusionTuning tuning;
  tuning.track.emplace();
  Run(state, tuning, true);
}
BENCHMARK(EngineWithTracks);

void EngineWithIntersection(benchmark::State& state) {
  fusion::FusionTuning tuning;
  tuning.method = fusion::FusionMethod::kIntersection;
  Run(state, tuning, true);
}
BENCHMARK(EngineWithIntersection);

}  // namespace
}  // namespace tributary
