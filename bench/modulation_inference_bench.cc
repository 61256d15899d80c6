// Inference of the modulation networks, all in: bursts in, logits out, one thread.
//
// Without arguments: a table over networks, formats and batches. With --serve NETWORK FORMAT BATCH: for each
// line "n" on standard input, the microseconds per burst over n batches, so that modulation_inference.py can
// alternate with its baseline.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "node/accelerator/create.h"

namespace tributary {
namespace {

// This process alone: other programs do not count.
double ProcessorMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

class Run {
 public:
  Run(const nn::ModulationArchitecture& architecture, fpga::NumberFormat format, std::size_t batch)
      : accelerator_(
            *accelerator::CreateCpuModulation(nn::RandomModulationNetwork(architecture), format, batch)),
        batch_(batch),
        bursts_(batch * nn::kModulationInput.size()),
        logits_(batch * nn::kModulationClasses) {
    std::vector<std::uint8_t> classes(batch);
    nn::DrawTones(1, bursts_, classes);
  }

  double MicrosecondsPerBurst(int batches) {
    const double start = ProcessorMicroseconds();
    for (int i = 0; i < batches; ++i) (void)accelerator_->Infer(bursts_, batch_, logits_);
    return (ProcessorMicroseconds() - start) / static_cast<double>(batches * static_cast<int>(batch_));
  }

  std::string description() const { return accelerator_->description(); }

 private:
  std::unique_ptr<accelerator::Accelerator> accelerator_;
  const std::size_t batch_;
  std::vector<float> bursts_;
  std::vector<float> logits_;
};

void PrintTable() {
  for (const nn::ModulationArchitecture& architecture : nn::ModulationArchitectures()) {
    for (const fpga::NumberFormat format : {fpga::NumberFormat::kInt8, fpga::NumberFormat::kFloat}) {
      for (const std::size_t batch : {1, 8, 64}) {
        Run run(architecture, format, batch);
        std::vector<double> times;
        for (int i = 0; i < 15; ++i)
          times.push_back(run.MicrosecondsPerBurst(200 / static_cast<int>(batch) + 1));
        std::nth_element(times.begin(), times.begin() + 7, times.end());
        std::printf("%-32s batch %2zu %9.2f us per burst\n", run.description().c_str(), batch, times[7]);
      }
    }
  }
}

int Serve(const std::string& network, const std::string& format_name, std::size_t batch) {
  const auto* const architecture = nn::FindModulationArchitecture(network);
  const auto format = fpga::ParseNumberFormat(format_name);
  if (architecture == nullptr || !format.ok() || batch == 0) {
    std::cerr << "usage: modulation_inference_bench [--serve table4|compact|deep int8|float BATCH]\n";
    return 64;
  }
  Run run(*architecture, *format, batch);
  std::cout << run.description() << std::endl;
  for (int batches = 0; std::cin >> batches;) std::cout << run.MicrosecondsPerBurst(batches) << std::endl;
  return 0;
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--serve") {
    return tributary::Serve(argv[2], argv[3], static_cast<std::size_t>(std::strtoul(argv[4], nullptr, 10)));
  }
  tributary::PrintTable();
  return 0;
}
