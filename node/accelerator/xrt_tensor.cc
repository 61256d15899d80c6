#include "node/accelerator/xrt_tensor.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fpga/model/tensor_unit.h"

namespace tributary::accelerator {
namespace {

// The instance in fpga/rtl/kernel/tensor_kernel.sv.
constexpr fpga::TensorUnitSize kTensorKernelSize;

std::string ExplainTensorReport(std::span<const std::uint64_t> words) {
  const auto run = fpga::ReadTensorReport(words.first<fpga::kTensorReportWords>());
  return run.has_value() ? ", " + fpga::TensorFaultText(*run) : "";
}

class XrtTensorSection final : public TensorSection {
 public:
  XrtTensorSection(TensorProgram program, std::size_t program_words, std::uint64_t memory_bytes,
                   XrtUnits& units, XrtUnits::Job& job)
      : TensorSection(std::move(program), program_words, kTensorKernelSize, memory_bytes),
        units_(units),
        job_(job) {}
  ~XrtTensorSection() override { units_.Remove(&job_); }

 private:
  absl::Status Load(std::vector<std::uint64_t> words) override { return units_.Load(job_, std::move(words)); }

  absl::StatusOr<std::uint64_t> Execute(Fill fill, Take take) override {
    std::uint64_t all_cycles = 0;
    RETURN_IF_ERROR(units_.Run(
        job_, program().images,
        [&](std::size_t image, std::span<std::uint64_t> input) {
          fill(image, input);
          return XrtUnits::Call{.input_words = program().input_words,
                                .output_words = program().output_words,
                                .frames = 1,
                                .configuration = program().input_words,
                                .seed = program().output_words};
        },
        [&](std::size_t image, std::span<const std::uint64_t> output, std::uint64_t cycles) {
          all_cycles += cycles;
          take(image, output);
        }));
    return all_cycles;
  }

  XrtUnits& units_;
  XrtUnits::Job& job_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<XrtTensorTarget>> XrtTensorTarget::Open(const XrtOptions& options) {
  ASSIGN_OR_RETURN(auto units, XrtUnits::Open({.name = std::string(kXrtTensorKernel),
                                               .parameters_stay = false,
                                               .report_words = fpga::kTensorReportWords,
                                               .explain = ExplainTensorReport},
                                              options));
  return std::unique_ptr<XrtTensorTarget>(new XrtTensorTarget(std::move(units)));
}

// At most two copies for each unit: the buffers of both slots; its program, and the one to load again from.
XrtTensorTarget::XrtTensorTarget(std::unique_ptr<XrtUnits> units)
    : TensorTarget(kTensorKernelSize, {.copies = 2 * units->count()}), units_(std::move(units)) {}

absl::StatusOr<std::unique_ptr<TensorSection>> XrtTensorTarget::Ready(TensorProgram program,
                                                                      std::uint64_t memory_bytes) const {
  const std::size_t program_words = program.words.size();
  ASSIGN_OR_RETURN(XrtUnits::Job* const job, units_->Add({.input_words = program.input_words,
                                                          .output_words = program.output_words,
                                                          .slots = std::min<std::size_t>(program.images, 2),
                                                          .parameters = std::exchange(program.words, {})}));
  return std::make_unique<XrtTensorSection>(std::move(program), program_words, memory_bytes, *units_, *job);
}

}  // namespace tributary::accelerator
