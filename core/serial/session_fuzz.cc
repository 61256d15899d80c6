// Any bytes at any pace are taken or refused, with bounded replies: a board never sees a number out of its
// range.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/serial/reply.h"
#include "core/serial/session.h"

namespace {

using namespace tributary::serial;

void MustBe(bool holds) {
  if (!holds) std::abort();
}

class StrictBoard final : public Board {
 public:
  absl::Status SetLayer(std::size_t layer, std::span<const Word> weights) override {
    MustBe(layer == 1 || layer == 2);
    MustBe(weights.size() == kLayerWeights[layer - 1]);
    for (const Word each : weights) MustBe(each >= kLeastWeight && each <= kMostWeight);
    return absl::OkStatus();
  }
  absl::Status Compute(std::span<const Inputs> inputs, std::span<Outputs> outputs) override {
    MustBe(!inputs.empty() && inputs.size() <= kMostInputs && outputs.size() == inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) outputs[i] = {inputs[i][0], inputs[i][1]};
    for (const Inputs& each : inputs) {
      for (const Word word : each) MustBe(word >= kLeastValue && word <= kMostValue);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<Retraining> Retrain(std::span<const Sample> samples) override {
    MustBe(!samples.empty() && samples.size() <= kMostSamples);
    return Retraining{};
  }
};

}  // namespace

// The first byte says how fast the others come.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  StrictBoard board;
  Session session(board);
  const std::int64_t step_ns = std::int64_t{bytes[0]} * 1'000'000;
  std::int64_t now_ns = 0;
  for (std::size_t i = 1; i < size; ++i) {
    std::string replies;
    now_ns += step_ns;
    session.Idle(now_ns, replies);
    session.Take({reinterpret_cast<const char*>(bytes + i), 1}, now_ns, replies);
    MustBe(replies.size() <= 2 * 1024);
    for (std::size_t at = 0; at < replies.size();) {
      const std::size_t end = replies.find('\n', at);
      MustBe(end != std::string::npos);
      const std::string line = replies.substr(at, end - at);
      MustBe(line == kVersionReply || ParseReply(line).ok());
      at = end + 1;
    }
  }
  return 0;
}
