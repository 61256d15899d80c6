// An ONNX graph on the processor.
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/status/macros.h"
#include "node/accelerator/create.h"
#include "node/accelerator/graph_run.h"

namespace tributary::accelerator {
namespace {

class CpuGraph final : public Accelerator {
 public:
  CpuGraph(const graph::GraphModel& model, std::unique_ptr<graph::Session> session, std::size_t max_batch)
      : Accelerator({model.inputs, model.outputs, max_batch}), graph_(model, std::move(session)) {}

  std::string description() const override { return "cpu (ONNX)"; }
  Counters counters() const override { return graph_.counters(); }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    return graph_.Run(features, batch, outputs);
  }

  GraphRun graph_;
};

}  // namespace

Created CreateCpuGraph(const graph::GraphModel& model, std::size_t max_batch) {
  ASSIGN_OR_RETURN(auto session, graph::OpenSession(model));
  return std::make_unique<CpuGraph>(model, std::move(session), max_batch);
}

}  // namespace tributary::accelerator
