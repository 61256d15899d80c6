// Training of a modulation network on a fixed set of bursts, one thread; driven by modulation_training.py.
//
// Arguments: a folder, a network, bursts to train on, bursts to judge on. Writes the bursts of both into the
// folder: training.npy and held_out.npy [n, 2, 128], and their classes, training_classes.npy and
// held_out_classes.npy [n]. Then for each line "SEED EPOCHS BATCH RATE" on standard input: trains from new
// weights, and answers the seconds and the share of the held-out bursts that it recognises.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cli/train/burst_set.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/modulation/modulation_trainer.h"
#include "core/parameters/npy.h"
#include "core/recordings/labelled_bursts.h"
#include "core/runtime/file.h"

namespace tributary {
namespace {

constexpr std::size_t kFeatures = radio::kBurstFeatures;

recordings::LabelledBursts Drawn(cli::BurstPurpose purpose, std::size_t count) {
  recordings::LabelledBursts bursts;
  cli::BurstSet::Create(radio::ReferenceDomain(), radio::SnrDefinition::kTrue, /*seed=*/3, purpose)
      ->Draw(0, count, bursts);
  return bursts;
}

bool Write(const std::string& path, std::span<const std::uint64_t> shape, std::span<const float> values) {
  return runtime::WriteFileAtomically(path, parameters::EncodeNpy(shape, values)).ok();
}

bool WriteBursts(const std::string& name, const recordings::LabelledBursts& bursts) {
  const std::vector<float> classes(bursts.classes.begin(), bursts.classes.end());
  const std::array<std::uint64_t, 3> shape = {classes.size(), 2, radio::kBurstSamples};
  return Write(name + ".npy", shape, bursts.bursts) &&
         Write(name + "_classes.npy", std::span(shape).first(1), classes);
}

struct Settings {
  std::uint64_t seed = 1, epochs = 1, batch = 128;
  double rate = 0;
};

nn::ModulationNetwork Train(const nn::ModulationArchitecture& architecture,
                            const recordings::LabelledBursts& bursts, const Settings& settings) {
  const std::uint64_t batches = bursts.classes.size() / settings.batch;
  nn::ModulationTrainer trainer(
      architecture,
      {.steps = settings.epochs * batches, .peak_learning_rate = settings.rate, .seed = settings.seed});
  std::vector<std::size_t> order(bursts.classes.size());
  std::iota(order.begin(), order.end(), 0);
  nn::RandomStream random(settings.seed);
  std::vector<float> batch(settings.batch * kFeatures);
  std::vector<std::uint8_t> classes(settings.batch);
  for (std::uint64_t epoch = 0; epoch < settings.epochs; ++epoch) {
    random.Shuffle(order);
    for (std::uint64_t first = 0; first < batches * settings.batch; first += settings.batch) {
      for (std::size_t i = 0; i < settings.batch; ++i) {
        const std::size_t n = order[first + i];
        std::copy_n(&bursts.bursts[n * kFeatures], kFeatures, &batch[i * kFeatures]);
        classes[i] = bursts.classes[n];
      }
      trainer.Step(batch, classes);
    }
  }
  nn::ModulationNetwork network;
  network.architecture = &architecture;
  network.parameters = trainer.NetworkParameters();
  return network;
}

double Accuracy(const nn::ModulationNetwork& network, const recordings::LabelledBursts& bursts) {
  const std::size_t count = bursts.classes.size();
  std::vector<float> logits(count * nn::kModulationClasses);
  nn::ModulationInference(network).Run(bursts.bursts, count, logits);
  std::size_t right = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const auto row = std::span(logits).subspan(n * nn::kModulationClasses, nn::kModulationClasses);
    right += static_cast<std::size_t>(std::ranges::max_element(row) - row.begin()) == bursts.classes[n];
  }
  return static_cast<double>(right) / static_cast<double>(count);
}

int Serve(const std::string& folder, const nn::ModulationArchitecture& architecture,
          std::size_t training_count, std::size_t held_out_count) {
  const recordings::LabelledBursts training = Drawn(cli::BurstPurpose::kTraining, training_count);
  const recordings::LabelledBursts held_out = Drawn(cli::BurstPurpose::kEvaluation, held_out_count);
  if (!WriteBursts(folder + "/training", training) || !WriteBursts(folder + "/held_out", held_out)) {
    std::cerr << "cannot write into " << folder << "\n";
    return 1;
  }
  std::cout << "ready" << std::endl;
  for (Settings s; std::cin >> s.seed >> s.epochs >> s.batch >> s.rate;) {
    const auto begin = std::chrono::steady_clock::now();
    const nn::ModulationNetwork network = Train(architecture, training, s);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::cout << seconds << " " << Accuracy(network, held_out) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  const auto* architecture = argc == 5 ? tributary::nn::FindModulationArchitecture(argv[2]) : nullptr;
  if (architecture == nullptr) {
    std::cerr
        << "usage: modulation_training_bench FOLDER table4|compact|deep TRAINING_BURSTS HELD_OUT_BURSTS\n";
    return 2;
  }
  return tributary::Serve(argv[1], *architecture, std::strtoul(argv[3], nullptr, 10),
                          std::strtoul(argv[4], nullptr, 10));
}
