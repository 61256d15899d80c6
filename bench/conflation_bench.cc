// Conflation of four panels' tuples, 16 and 256 subjects: the batch against Eigen and the double reference.
#include <benchmark/benchmark.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <array>
#include <random>
#include <vector>

#include "core/estimate/conflate_batch.h"
#include "core/estimate/conflation.h"
#include "core/estimate/random_gaussian_fixture.h"

namespace tributary {
namespace {

constexpr std::size_t kPanels = 4;

struct Panels {
  explicit Panels(std::size_t subjects) : means(kPanels), factors(kPanels), planes(kPanels) {
    std::mt19937_64 random(1);
    for (std::size_t panel = 0; panel < kPanels; ++panel) {
      for (std::size_t i = 0; i < subjects; ++i) {
        const estimate::Gaussian<2> tuple = estimate::RandomGaussian<2>(random, 10, 0.02, 2);
        for (int k = 0; k < 2; ++k) means[panel].push_back(static_cast<float>(tuple.mean[k]));
        for (const double element : {tuple.cholesky(0, 0), tuple.cholesky(1, 0), tuple.cholesky(1, 1)}) {
          factors[panel].push_back(static_cast<float>(element));
        }
      }
      planes[panel].Load(means[panel], factors[panel]);
      pointers[panel] = &planes[panel];
    }
  }

  std::vector<std::vector<float>> means;    // [panel][n × 2]
  std::vector<std::vector<float>> factors;  // [panel][n × 3]
  std::vector<estimate::TuplePlanes> planes;
  std::array<const estimate::TuplePlanes*, kPanels> pointers;
};

void Report(benchmark::State& state) {
  const auto fused = static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.SetItemsProcessed(static_cast<std::int64_t>(fused));
}

void Batch(benchmark::State& state) {
  const Panels panels(static_cast<std::size_t>(state.range(0)));
  estimate::ConflatedBatch result;
  for (auto _ : state) {
    estimate::ConflateBatch(panels.pointers, false, result);
    benchmark::DoNotOptimize(result.fused.l11());
    benchmark::ClobberMemory();
  }
  Report(state);
}
BENCHMARK(Batch)->Arg(16)->Arg(256);

void BatchWithInnovations(benchmark::State& state) {
  const Panels panels(static_cast<std::size_t>(state.range(0)));
  estimate::ConflatedBatch result;
  for (auto _ : state) {
    estimate::ConflateBatch(panels.pointers, true, result);
    benchmark::DoNotOptimize(result.fused.l11());
    benchmark::ClobberMemory();
  }
  Report(state);
}
BENCHMARK(BatchWithInnovations)->Arg(16)->Arg(256);

// From the wire's order and back, validated: the aggregator's work per slot.
void BatchFromTheWire(benchmark::State& state) {
  Panels panels(static_cast<std::size_t>(state.range(0)));
  estimate::ConflatedBatch result;
  std::vector<float> means(panels.means[0].size());
  std::vector<float> factors(panels.factors[0].size());
  for (auto _ : state) {
    bool valid = true;
    for (std::size_t panel = 0; panel < kPanels; ++panel) {
      valid &= panels.planes[panel].Load(panels.means[panel], panels.factors[panel]);
    }
    estimate::ConflateBatch(panels.pointers, false, result);
    valid &= result.fused.Store(means, factors);
    benchmark::DoNotOptimize(valid);
    benchmark::ClobberMemory();
  }
  Report(state);
}
BENCHMARK(BatchFromTheWire)->Arg(16)->Arg(256);

// The textbook form: covariance of each, inverse, sum, inverse, factor.
void EigenMatrix2f(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Panels panels(n);
  std::vector<Eigen::Vector2f> means(n);
  std::vector<Eigen::Matrix2f> factors(n);
  for (auto _ : state) {
    for (std::size_t i = 0; i < n; ++i) {
      Eigen::Matrix2f sum = Eigen::Matrix2f::Zero();
      Eigen::Vector2f weighted = Eigen::Vector2f::Zero();
      for (std::size_t panel = 0; panel < kPanels; ++panel) {
        const float* const factor = &panels.factors[panel][3 * i];
        Eigen::Matrix2f lower;
        lower << factor[0], 0, factor[1], factor[2];
        const Eigen::Matrix2f information = (lower * lower.transpose()).inverse();
        sum += information;
        weighted += information * Eigen::Vector2f(panels.means[panel][2 * i], panels.means[panel][2 * i + 1]);
      }
      const Eigen::Matrix2f covariance = sum.inverse();
      means[i] = covariance * weighted;
      factors[i] = Eigen::LLT<Eigen::Matrix2f>(covariance).matrixL();
    }
    benchmark::DoNotOptimize(means.data());
    benchmark::DoNotOptimize(factors.data());
    benchmark::ClobberMemory();
  }
  Report(state);
}
BENCHMARK(EigenMatrix2f)->Arg(16)->Arg(256);

void DoubleReference(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Panels panels(n);
  std::array<estimate::Gaussian<2>, kPanels> column;
  for (auto _ : state) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t panel = 0; panel < kPanels; ++panel) {
        column[panel] =
            estimate::Gaussian<2>::FromTuple(&panels.means[panel][2 * i], &panels.factors[panel][3 * i]);
      }
      benchmark::DoNotOptimize(estimate::Conflate<2>(column));
    }
  }
  Report(state);
}
BENCHMARK(DoubleReference)->Arg(16);

}  // namespace
}  // namespace tributary
