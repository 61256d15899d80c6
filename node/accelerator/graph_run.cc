#include "node/accelerator/graph_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/status/macros.h"

namespace tributary::accelerator {

std::string DelegatedText(const graph::Session& session) {
  const graph::AcceleratorReport& report = session.accelerator();
  const double all = static_cast<double>(std::max<std::int64_t>(report.all_products, 1));
  return fmt::format("{} of {} nodes and {:.1f} % of the multiply-accumulates on the tensor unit",
                     report.nodes, report.all_nodes, 100 * static_cast<double>(report.products) / all);
}

absl::Status CheckDelegated(const graph::Session& session) {
  if (session.accelerator().nodes > 0) return absl::OkStatus();
  // A product tells most; a graph of floats gives a reason for none.
  const graph::NodeReport* first = nullptr;
  for (const graph::NodeReport& node : session.nodes()) {
    if (!node.why.empty() && (first == nullptr || (first->products == 0 && node.products > 0))) first = &node;
  }
  const std::string why = first == nullptr
                              ? "it has no quantised layer"
                              : fmt::format("{} \"{}\": {}", first->operation, first->name, first->why);
  return absl::FailedPreconditionError(fmt::format(
      "the graph has nothing for the tensor unit ({}). `tributary model quantise` makes quantised layers, "
      "`float_layers` gives the unit those in floats, "
      "`tributary model run --plan --accelerator tensor-model` says where each node runs",
      why));
}

GraphRun::GraphRun(const graph::GraphModel& model, std::unique_ptr<graph::Session> session)
    : inputs_(model.inputs),
      outputs_(model.outputs),
      output_(model.output_index),
      probabilities_(model.meaning.kind == graph::OutputKind::kProbabilities),
      session_(std::move(session)),
      input_(session_->inputs()[0].spec) {}

absl::Status GraphRun::Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) {
  const graph::View views[] = {input_.view()};
  for (std::size_t subject = 0; subject < batch; ++subject) {
    TakeFeatures(features.subspan(subject * inputs_, inputs_));
    RETURN_IF_ERROR(session_->Run(views));
    ++runs_;
    const std::span<const float> given = session_->output(output_).As<const float>();
    const std::span<float> result = outputs.subspan(subject * outputs_, outputs_);
    std::ranges::copy(given, result.begin());
    if (!probabilities_) continue;
    // A probability of zero is a small one to whoever fuses; below zero it is none.
    constexpr float kLeast = 1e-30f;
    for (float& value : result) value = value >= 0 ? std::log(std::max(value, kLeast)) : std::nanf("");
  }
  return absl::OkStatus();
}

Accelerator::Counters GraphRun::counters() const {
  const graph::AcceleratorReport& report = session_->accelerator();
  const std::uint64_t runs = runs_;
  const auto in_all = [runs](std::int64_t of_a_run) { return runs * static_cast<std::uint64_t>(of_a_run); };
  return {.nodes = in_all(report.all_nodes),
          .delegated_nodes = in_all(report.nodes),
          .products = in_all(report.all_products),
          .delegated_products = in_all(report.products)};
}

void GraphRun::TakeFeatures(std::span<const float> features) {
  if (input_.spec.type == graph::ElementType::kFloat32) {
    std::ranges::copy(features, input_.As<float>().begin());
    return;
  }
  std::ranges::transform(features, input_.As<std::uint8_t>().begin(), [](float value) {
    return value > 0 ? static_cast<std::uint8_t>(std::lround(std::min(value, 255.0f))) : std::uint8_t{0};
  });
}

}  // namespace tributary::accelerator
