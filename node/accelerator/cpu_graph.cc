// An ONNX graph on the processor, a subject at a time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/status/macros.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

class CpuGraph final : public Accelerator {
 public:
  CpuGraph(const graph::GraphModel& model, std::unique_ptr<graph::Session> session, std::size_t max_batch)
      : Accelerator({model.inputs, model.outputs, max_batch}),
        output_(model.output_index),
        probabilities_(model.meaning.kind == graph::OutputKind::kProbabilities),
        session_(std::move(session)),
        input_(session_->inputs()[0].spec) {}

  std::string description() const override { return "cpu (ONNX)"; }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    const graph::View views[] = {input_.view()};
    for (std::size_t subject = 0; subject < batch; ++subject) {
      TakeFeatures(features.subspan(subject * shape().inputs, shape().inputs));
      RETURN_IF_ERROR(session_->Run(views));
      const std::span<const float> given = session_->output(output_).As<const float>();
      const std::span<float> result = outputs.subspan(subject * shape().outputs, shape().outputs);
      std::ranges::copy(given, result.begin());
      if (!probabilities_) continue;
      // A probability of zero is a small one to whoever fuses; below zero it is none.
      constexpr float kLeast = 1e-30f;
      for (float& value : result) value = value >= 0 ? std::log(std::max(value, kLeast)) : std::nanf("");
    }
    return absl::OkStatus();
  }

  void TakeFeatures(std::span<const float> features) {
    if (input_.spec.type == graph::ElementType::kFloat32) {
      std::ranges::copy(features, input_.As<float>().begin());
      return;
    }
    std::ranges::transform(features, input_.As<std::uint8_t>().begin(), [](float value) {
      return value > 0 ? static_cast<std::uint8_t>(std::lround(std::min(value, 255.0f))) : std::uint8_t{0};
    });
  }

  const std::size_t output_;
  const bool probabilities_;
  const std::unique_ptr<graph::Session> session_;
  graph::Array input_;
};

}  // namespace

Created CreateCpuGraph(const graph::GraphModel& model, std::size_t max_batch) {
  ASSIGN_OR_RETURN(auto session, graph::OpenSession(model));
  return std::make_unique<CpuGraph>(model, std::move(session), max_batch);
}

}  // namespace tributary::accelerator
