// The engine flat out on one thread: four panels, 16 subjects, slot after slot.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "aggregator/fusion/engine.h"
#include "core/estimate/categorical.h"
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

// Ten classes; the likeliest one has about 0.6.
estimate::TupleFrame RandomClasses(std::mt19937_64& random, std::uint32_t subjects, std::uint32_t classes) {
  std::normal_distribution<double> logit(0, 1.5);
  estimate::TupleFrame frame;
  frame.set_shape({.dimension = 0, .classes = classes});
  std::vector<double> logs(classes);
  for (std::uint32_t i = 0; i < subjects; ++i) {
    frame.subjects.push_back(i);
    for (double& each : logs) each = logit(random);
    estimate::Normalise(logs);
    frame.log_probabilities.insert(frame.log_probabilities.end(), logs.begin(), logs.end());
  }
  return frame;
}

void Run(benchmark::State& state, const fusion::FusionTuning& tuning, bool agreeing,
         std::uint32_t classes = 0) {
  fusion::SiteConfig site;
  site.name = "bench";
  if (classes > 0) site.dimension = 0;
  for (std::uint32_t c = 0; c < classes; ++c) site.classes.push_back(std::to_string(c));
  site.leaves = {"n", "e", "s", "w"};
  site.max_age_ns.reset();
  site.max_lead_ns.reset();
  site.tuning = tuning;
  const auto engine = *fusion::FusionEngine::Create(site);
  std::mt19937_64 random(1);
  std::array<estimate::TupleFrame, kPanels> frames;
  std::array<fusion::SourceHandle, kPanels> sources;
  for (std::size_t panel = 0; panel < kPanels; ++panel) {
    sources[panel] = *engine->Join({site.leaves[panel], site.dimension, {site.leaves[panel]}, site.classes});
    frames[panel] = classes > 0 ? RandomClasses(random, kSubjects, classes) : RandomFrame(random, kSubjects);
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
  tuning.track = true;
  Run(state, tuning, true);
}
BENCHMARK(EngineWithTracks);

void EngineWithIntersection(benchmark::State& state) {
  fusion::FusionTuning tuning;
  tuning.method = fusion::FusionMethod::kIntersection;
  Run(state, tuning, true);
}
BENCHMARK(EngineWithIntersection);

void EngineOfTenClasses(benchmark::State& state) { Run(state, fusion::FusionTuning(), true, 10); }
BENCHMARK(EngineOfTenClasses);

void EngineOfTenClassesWithGate(benchmark::State& state) {
  fusion::FusionTuning tuning;
  tuning.gate_probability = 0.999999;
  Run(state, tuning, true, 10);
}
BENCHMARK(EngineOfTenClassesWithGate);

void EngineOfTenClassesWithPool(benchmark::State& state) {
  fusion::FusionTuning tuning;
  tuning.method = fusion::FusionMethod::kIntersection;
  Run(state, tuning, true, 10);
}
BENCHMARK(EngineOfTenClassesWithPool);

}  // namespace
}  // namespace tributary
