#include "node/accelerator/tensor_target.h"

#include <utility>
#include <vector>

#include "fpga/model/tensor_unit.h"

namespace tributary::accelerator {
namespace {

class TensorModelSection final : public TensorSection {
 public:
  TensorModelSection(TensorProgram program, std::vector<std::uint64_t> words,
                     const fpga::TensorUnitSize& size, std::uint64_t memory_bytes)
      : TensorSection(std::move(program), words.size(), size, memory_bytes),
        words_(std::move(words)),
        unit_(size),
        input_(this->program().input_words),
        output_(this->program().output_words) {}

 private:
  absl::Status Load(std::vector<std::uint64_t> words) override {
    words_ = std::move(words);
    return absl::OkStatus();
  }

  absl::StatusOr<std::uint64_t> Execute(Fill fill, Take take) override {
    std::uint64_t cycles = 0;
    for (std::size_t image = 0; image < program().images; ++image) {
      fill(image, input_);
      const fpga::TensorRun run = unit_.Run(words_, input_, output_);
      if (run.status != fpga::TensorStatus::kOk) {
        return absl::InternalError("the tensor unit ended with " + fpga::TensorFaultText(run));
      }
      cycles += run.cycles;
      take(image, output_);
    }
    return cycles;
  }

  std::vector<std::uint64_t> words_;
  fpga::TensorUnit unit_;
  std::vector<std::uint64_t> input_, output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TensorSection>> TensorModelTarget::Ready(TensorProgram program,
                                                                        std::uint64_t memory_bytes) const {
  std::vector<std::uint64_t> words = std::exchange(program.words, {});
  return std::make_unique<TensorModelSection>(std::move(program), std::move(words), size(), memory_bytes);
}

}  // namespace tributary::accelerator
