// One step of SimSiam, all in: two views, forward, backward, SGD; one thread.
//
// Without arguments: a table. With --serve: for each line "n" on standard input, the milliseconds per step
// over n steps, so that self_supervised.py can alternate with its baseline.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary {
namespace {

// The network of PyTorch's figures; self_supervised.py builds the same.
nn::EncoderOptions MeasuredEncoder() {
  nn::EncoderOptions encoder;
  encoder.channels = {32, 64};
  encoder.grid = 1;
  return encoder;
}

class Run {
 public:
  explicit Run(const nn::SelfSupervisedOptions& options)
      : trainer_(*nn::SelfSupervisedTrainer::Create(options)),
        images_(options.batch * options.encoder.side * options.encoder.side) {
    nn::RandomStream random(1);
    for (std::uint8_t& pixel : images_) pixel = static_cast<std::uint8_t>(random.Below(256));
  }

  double MillisecondsPerStep(int steps) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) (void)trainer_->Step(images_);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() /
           steps;
  }

 private:
  std::unique_ptr<nn::SelfSupervisedTrainer> trainer_;
  std::vector<std::uint8_t> images_;
};

void PrintTable() {
  struct Case {
    const char* name;
    nn::EncoderOptions encoder;
    nn::SelfSupervisedMethod method;
  };
  using Norm = nn::EncoderNorm;
  const auto with = [](Norm norm, nn::EncoderActivation activation, bool quantised) {
    nn::EncoderOptions encoder = MeasuredEncoder();
    encoder.norm = norm;
    encoder.activation = activation;
    encoder.quantised = quantised;
    return encoder;
  };
  const Case cases[] = {
      {"SimSiam, batch norm", with(Norm::kBatch, nn::EncoderActivation::kRelu, false),
       nn::SelfSupervisedMethod::kSimSiam},
      {"SimSiam, L1 filter response", with(Norm::kFilterResponse, nn::EncoderActivation::kRelu, false),
       nn::SelfSupervisedMethod::kSimSiam},
      {"SimSiam, 12/8 bits", with(Norm::kNone, nn::EncoderActivation::kHardClip, true),
       nn::SelfSupervisedMethod::kSimSiam},
      {"BYOL, batch norm", with(Norm::kBatch, nn::EncoderActivation::kRelu, false),
       nn::SelfSupervisedMethod::kByol},
  };
  for (const Case& c : cases) {
    nn::SelfSupervisedOptions options;
    options.encoder = c.encoder;
    options.method = c.method;
    Run run(options);
    std::vector<double> times;
    for (int i = 0; i < 15; ++i) times.push_back(run.MillisecondsPerStep(5));
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    std::printf("%-28s %7.2f ms per step of %zu images, %6.0f images/s\n", c.name, times[7], options.batch,
                1e3 * static_cast<double>(options.batch) / times[7]);
  }
}

int Serve() {
  nn::SelfSupervisedOptions options;
  options.encoder = MeasuredEncoder();
  Run run(options);
  std::cout << "tributary SimSiam step" << std::endl;
  for (int steps = 0; std::cin >> steps;) std::cout << run.MillisecondsPerStep(steps) << std::endl;
  return 0;
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--serve") return tributary::Serve();
  tributary::PrintTable();
  return 0;
}
