#include "node/accelerator/xrt_tensor.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fpga/model/tensor_kernels.h"
#include "fpga/model/tensor_unit.h"
#include "node/accelerator/xrt_xclbin.h"

namespace tributary::accelerator {
namespace {

std::string ExplainTensorReport(std::span<const std::uint64_t> words) {
  const auto run = fpga::ReadTensorReport(words.first<fpga::kTensorReportWords>());
  return run.has_value() ? ", " + fpga::TensorFaultText(*run) : "";
}

class XrtTensorJob final : public TensorJob {
 public:
  XrtTensorJob(const fpga::TensorBuffers& buffers, XrtUnits& units, XrtUnits::Job& job)
      : buffers_(buffers), units_(units), job_(job) {}
  ~XrtTensorJob() override { units_.Remove(&job_); }

  absl::Status Load(std::vector<std::uint64_t> words) override { return units_.Load(job_, std::move(words)); }

  absl::StatusOr<std::uint64_t> Run(std::size_t runs, Fill fill, Take take) override {
    std::uint64_t all_cycles = 0;
    RETURN_IF_ERROR(units_.Run(
        job_, runs,
        [&](std::size_t run, std::span<std::uint64_t> input) {
          fill(run, input);
          return XrtUnits::Call{.input_words = buffers_.input_words,
                                .output_words = buffers_.output_words,
                                .frames = 1,
                                .configuration = static_cast<std::uint32_t>(buffers_.input_words),
                                .seed = static_cast<std::uint32_t>(buffers_.output_words)};
        },
        [&](std::size_t run, std::span<const std::uint64_t> output, std::uint64_t cycles) {
          all_cycles += cycles;
          take(run, output);
        }));
    return all_cycles;
  }

 private:
  const fpga::TensorBuffers buffers_;
  XrtUnits& units_;
  XrtUnits::Job& job_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<XrtTensorTarget>> XrtTensorTarget::Open(
    std::span<const std::string_view> kernels, const XrtOptions& options) {
  // If the xclbin has none or cannot be read, XrtUnits::Open says so.
  const absl::StatusOr<XclbinSummary> xclbin = ReadXclbin(options.xclbin);
  const auto has_unit = [&](std::string_view kernel) { return xclbin.ok() && HasUnit(*xclbin, kernel); };
  const auto found = std::ranges::find_if(kernels, has_unit);
  const std::string_view kernel = found == kernels.end() ? kernels.front() : *found;
  ASSIGN_OR_RETURN(auto units, XrtUnits::Open({.name = std::string(kernel),
                                               .parameters_stay = false,
                                               .report_words = fpga::kTensorReportWords,
                                               .explain = ExplainTensorReport},
                                              options));
  return std::unique_ptr<XrtTensorTarget>(
      new XrtTensorTarget(std::move(units), fpga::TensorKernelSize(kernel), options.float_layers));
}

XrtTensorTarget::XrtTensorTarget(std::unique_ptr<XrtUnits> units, const fpga::TensorUnitSize& size,
                                 FloatLayers floats)
    : TensorTarget(size, OfABoard(units->count()), floats), units_(std::move(units)) {}

absl::StatusOr<std::unique_ptr<TensorJob>> XrtTensorTarget::MakeJob(std::vector<std::uint64_t> program,
                                                                    const fpga::TensorBuffers& buffers,
                                                                    std::size_t runs) const {
  ASSIGN_OR_RETURN(XrtUnits::Job* const job, units_->Add({.input_words = buffers.input_words,
                                                          .output_words = buffers.output_words,
                                                          .slots = std::min<std::size_t>(runs, 2),
                                                          .parameters = std::move(program)}));
  return std::make_unique<XrtTensorJob>(buffers, *units_, *job);
}

}  // namespace tributary::accelerator
