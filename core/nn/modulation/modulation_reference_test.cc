#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "core/nn/modulation/modulation_trainer.h"

namespace tributary::nn {
namespace {

// tests/reference/modulation_training.py
nlohmann::json RecordedTraining() {
  std::ifstream file(TRIBUTARY_SOURCE_DIR "/tests/reference/modulation_training.json");
  return nlohmann::json::parse(file);
}

// Single precision rounds in another order here than in PyTorch: ten times PyTorch's own distance between
// single and double precision, in the tensor where it is largest, and at least a thousand roundings.
double Allowed(double spread) { return std::max(10 * spread, 1e3 * 0x1p-24); }

class ModulationReferenceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void ExpectTensors(const nlohmann::json& recorded, std::span<const float> flat) {
    ASSERT_EQ(recorded.size(), trainer_.layout().tensors().size());
    double spread = 0;
    for (const auto& [name, tensor] : recorded.items())
      spread = std::max(spread, tensor["spread"].get<double>());
    const double allowed = Allowed(spread);
    for (const auto& [name, tensor] : recorded.items()) {
      const auto values = trainer_.layout().Range(name).Of(flat);
      const double size = tensor["size"];
      double squares = 0;
      for (const float value : values) squares += double{value} * value;
      EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), size, allowed * size) << name;
      for (std::size_t i = 0; i < tensor["at"].size(); ++i) {
        EXPECT_NEAR(values[tensor["at"][i]], tensor["values"][i].get<double>(), allowed * size)
            << name << " " << tensor["at"][i];
      }
    }
  }

  void Draw(std::uint64_t step) {
    DrawTones(recorded_["first_tones"].get<std::uint64_t>() + step, bursts_, classes_);
  }

  const nlohmann::json recorded_ = RecordedTraining();
  const nlohmann::json network_ = recorded_["networks"][GetParam()];
  ModulationTrainer trainer_{
      *FindModulationArchitecture(GetParam()),
      {.steps = recorded_["steps"], .peak_learning_rate = recorded_["rate"], .seed = recorded_["seed"]}};
  std::vector<std::uint8_t> classes_ = std::vector<std::uint8_t>(recorded_["batch"].get<std::size_t>());
  std::vector<float> bursts_ = std::vector<float>(classes_.size() * kModulationInput.size());
};

TEST_P(ModulationReferenceTest, TheFirstGradientIsThatOfPyTorch) {
  Draw(0);
  trainer_.Gradient(bursts_, classes_);
  ExpectTensors(network_["gradient"], trainer_.gradient());
}

TEST_P(ModulationReferenceTest, TrainsAsPyTorch) {
  const std::vector<std::uint64_t> checked = recorded_["checked"];
  std::size_t next = 0;
  for (std::uint64_t step = 0; step < recorded_["steps"]; ++step) {
    Draw(step);
    const double loss = trainer_.Step(bursts_, classes_);
    if (step + 1 != checked[next]) continue;
    SCOPED_TRACE(step + 1);
    EXPECT_NEAR(loss, network_["losses"][next].get<double>(), Allowed(network_["loss_spreads"][next]));
    ExpectTensors(network_["parameters"][next], trainer_.parameters());
    ++next;
  }
  EXPECT_EQ(next, checked.size());
}

INSTANTIATE_TEST_SUITE_P(Networks, ModulationReferenceTest, ::testing::Values("table4", "deep"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tributary::nn
