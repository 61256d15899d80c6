// Inference of the positioning network, all in: raw features in, outputs out, one thread.
//
// Without arguments: a table over the number formats. With --serve FORMAT: for each line "n" on standard
// input, the microseconds per batch of 16 over n batches, so that positioning_inference.py can alternate with
// its baseline.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "fpga/model/positioning_model.h"
#include "fpga/model/random_network_fixture.h"
#include "node/accelerator/create.h"

namespace tributary {
namespace {

constexpr std::size_t kBatch = 16;

class Run {
 public:
  explicit Run(fpga::NumberFormat format)
      : accelerator_(*accelerator::CreateCpuPositioning(fpga::RandomPositioningNetwork(1), format, kBatch)),
        features_(fpga::RandomFeatures(1, kBatch)),
        outputs_(kBatch * fpga::FixedPositioning::kOutputs) {}

  double MicrosecondsPerBatch(int batches) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batches; ++i) (void)accelerator_->Infer(features_, kBatch, outputs_);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
           batches;
  }

  std::string description() const { return accelerator_->description(); }

 private:
  std::unique_ptr<accelerator::Accelerator> accelerator_;
  std::vector<float> features_;
  std::vector<float> outputs_;
};

void PrintTable() {
  for (const fpga::NumberFormat format : fpga::kNumberFormats) {
    Run run(format);
    std::vector<double> times;
    for (int i = 0; i < 15; ++i)
      times.push_back(run.MicrosecondsPerBatch(format == fpga::NumberFormat::kInt32 ? 2 : 100));
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    std::printf("%-24s %9.2f us per batch of 16\n", run.description().c_str(), times[7]);
  }
}

int Serve(const std::string& name) {
  const auto format = fpga::ParseNumberFormat(name);
  if (!format.ok()) {
    std::cerr << format.status().message() << "\n";
    return 2;
  }
  Run run(*format);
  std::cout << run.description() << std::endl;
  for (int batches = 0; std::cin >> batches;) std::cout << run.MicrosecondsPerBatch(batches) << std::endl;
  return 0;
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--serve") return tributary::Serve(argv[2]);
  tributary::PrintTable();
  return 0;
}
