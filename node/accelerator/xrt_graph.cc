// An ONNX graph of which a board's tensor unit computes what it can.
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"
#include "node/accelerator/graph_run.h"
#include "node/accelerator/xrt_fallback.h"
#include "node/accelerator/xrt_tensor.h"

namespace tributary::accelerator {
namespace {

class XrtGraph final : public Accelerator {
 public:
  XrtGraph(const graph::GraphModel& model, std::unique_ptr<XrtTensorTarget> unit,
           std::unique_ptr<graph::Session> session, std::size_t max_batch)
      : Accelerator({model.inputs, model.outputs, max_batch}),
        unit_(std::move(unit)),
        graph_(model, std::move(session)) {}

  std::string description() const override {
    return fmt::format("xrt (ONNX, {}; {})", DelegatedText(graph_.session()), unit_->description());
  }
  Counters counters() const override { return graph_.counters() + unit_->counters(); }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    return graph_.Run(features, batch, outputs);
  }

  const std::unique_ptr<XrtTensorTarget> unit_;
  GraphRun graph_;  // after unit_: its sections are destroyed first
};

}  // namespace

absl::StatusOr<std::unique_ptr<graph::SectionTarget>> OpenXrtTensorUnit(const XrtOptions& options) {
  return XrtTensorTarget::Open(GraphTensorKernels(options.float_layers), options);
}

Created CreateXrtGraph(const graph::GraphModel& model, std::size_t max_batch, const XrtOptions& options) {
  bool nothing = false;
  const auto create_board = [&]() -> Created {
    ASSIGN_OR_RETURN(auto unit, XrtTensorTarget::Open(GraphTensorKernels(options.float_layers), options));
    ASSIGN_OR_RETURN(auto session, graph::OpenSession(model, unit.get()));
    const absl::Status delegated = CheckDelegated(*session);
    nothing = !delegated.ok();
    RETURN_IF_ERROR(delegated);
    return std::make_unique<XrtGraph>(model, std::move(unit), std::move(session), max_batch);
  };
  Created board = create_board();
  const auto create_cpu = [&] { return CreateCpuGraph(model, max_batch); };
  if (nothing && options.fall_back_to_cpu) {
    runtime::LogWarning("{}; fallback = \"cpu\": the processor computes all of it",
                        std::string(board.status().message()));
    return create_cpu();
  }
  if (board.ok()) runtime::LogInfo("{}", (*board)->description());
  return WithFallback<XrtFallback<Accelerator>, Accelerator>(std::move(board), options, create_cpu);
}

}  // namespace tributary::accelerator
