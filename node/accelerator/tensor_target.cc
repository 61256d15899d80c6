#include "node/accelerator/tensor_target.h"

#include <utility>
#include <vector>

#include "fpga/model/tensor_unit.h"

namespace tributary::accelerator {
namespace {

class TensorModelJob final : public TensorJob {
 public:
  TensorModelJob(std::vector<std::uint64_t> program, const fpga::TensorBuffers& buffers,
                 const fpga::TensorUnitSize& size)
      : program_(std::move(program)),
        unit_(size),
        input_(buffers.input_words),
        output_(buffers.output_words) {}

  absl::Status Load(std::vector<std::uint64_t> words) override {
    program_ = std::move(words);
    return absl::OkStatus();
  }

  absl::StatusOr<std::uint64_t> Run(std::size_t runs, Fill fill, Take take) override {
    std::uint64_t cycles = 0;
    for (std::size_t i = 0; i < runs; ++i) {
      fill(i, input_);
      const fpga::TensorRun run = unit_.Run(program_, input_, output_);
      if (run.status != fpga::TensorStatus::kOk) {
        return absl::InternalError("the tensor unit ended with " + fpga::TensorFaultText(run));
      }
      cycles += run.cycles;
      take(i, output_);
    }
    return cycles;
  }

 private:
  std::vector<std::uint64_t> program_;
  fpga::TensorUnit unit_;
  std::vector<std::uint64_t> input_, output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TensorJob>> TensorModelTarget::MakeJob(std::vector<std::uint64_t> program,
                                                                      const fpga::TensorBuffers& buffers,
                                                                      std::size_t /*runs*/) const {
  return std::make_unique<TensorModelJob>(std::move(program), buffers, size());
}

}  // namespace tributary::accelerator
