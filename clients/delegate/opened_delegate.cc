#include "clients/delegate/opened_delegate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/status/macros.h"
#include "node/accelerator/tensor_target.h"

namespace tributary::delegate {
namespace {

constexpr std::size_t kMostDimensions = 1'000;

absl::Status Refused(absl::string_view text) { return absl::InvalidArgumentError(text); }

// Null: the processor.
absl::StatusOr<std::unique_ptr<graph::SectionTarget>> TargetOf(const tributary_delegate_options& options) {
  const std::uint32_t lanes = options.lanes == 0 ? 16 : options.lanes;
  if (lanes != 8 && lanes != 16 && lanes != 32) {
    return Refused(fmt::format("lanes is {}; 8, 16 or 32 are taken", lanes));
  }
  const std::string_view name = options.accelerator == nullptr ? "cpu" : options.accelerator;
  if (name == "cpu") return nullptr;
  if (name == "tensor-model") {
    return std::make_unique<accelerator::TensorModelTarget>(fpga::TensorUnitSize{.lanes = lanes});
  }
  return Refused(
      fmt::format("accelerator is \"{}\"; this library has cpu and tensor-model", name.substr(0, 40)));
}

absl::StatusOr<graph::SessionOptions> SessionOptionsOf(const tributary_delegate_options& options) {
  graph::SessionOptions session;
  if (options.memory_bytes != 0) session.memory_bytes = options.memory_bytes;
  session.strict = options.strict != 0;
  if (options.arithmetic != TRIBUTARY_DELEGATE_INTEGERS && options.arithmetic != TRIBUTARY_DELEGATE_FLOATS) {
    return Refused(fmt::format("arithmetic is {}; 0 or 1 is taken", options.arithmetic));
  }
  session.arithmetic = options.arithmetic == TRIBUTARY_DELEGATE_FLOATS ? graph::Arithmetic::kAsWritten
                                                                       : graph::Arithmetic::kIntegers;
  if (options.reserved != 0) return Refused("reserved is not 0");
  if (options.dimension_count > kMostDimensions) {
    return Refused(
        fmt::format("dimension_count is {}; at most {} are taken", options.dimension_count, kMostDimensions));
  }
  if (options.dimension_count > 0 && options.dimensions == nullptr) return Refused("dimensions is NULL");
  for (std::size_t i = 0; i < options.dimension_count; ++i) {
    const tributary_delegate_dimension& dimension = options.dimensions[i];
    if (dimension.name == nullptr) return Refused(fmt::format("dimensions[{}].name is NULL", i));
    if (dimension.size < 1) {
      return Refused(fmt::format("dimensions[{}].size is {}; sizes begin with 1", i, dimension.size));
    }
    if (!session.reader.dimensions.emplace(dimension.name, dimension.size).second) {
      return Refused(fmt::format("dimensions[{}] has the name of another", i));
    }
  }
  return session;
}

// What a caller gives for a port: an input's array, or an output's.
absl::Status CheckArray(const char* side, std::size_t index, const graph::PortReport& port, const void* data,
                        std::size_t bytes, std::int32_t type) {
  const auto fault = [&](const std::string& what) {
    return Refused(
        fmt::format("{}[{}] (\"{}\", {}): {}", side, index, port.name.substr(0, 80), port.spec.Text(), what));
  };
  if (type != TypeNumberOf(port.spec.type)) {
    return fault(fmt::format("type is {}; {} is expected", type, TypeNumberOf(port.spec.type)));
  }
  if (bytes != port.spec.bytes()) {
    return fault(fmt::format("{} bytes; {} are expected", bytes, port.spec.bytes()));
  }
  if (bytes == 0) return absl::OkStatus();
  if (data == nullptr) return fault("data is NULL");
  if (reinterpret_cast<std::uintptr_t>(data) % graph::SizeOf(port.spec.type) != 0) {
    return fault("data is not aligned to the size of an element");
  }
  return absl::OkStatus();
}

absl::Status CheckCount(const char* side, std::size_t count, std::size_t expected) {
  if (count == expected) return absl::OkStatus();
  return Refused(fmt::format("{} {}; the graph has {}", count, side, expected));
}

// Gives the flag back.
class RunningMark {
 public:
  explicit RunningMark(std::atomic_flag& flag) : flag_(flag), taken_(!flag.test_and_set()) {}
  RunningMark(const RunningMark&) = delete;
  RunningMark& operator=(const RunningMark&) = delete;
  ~RunningMark() {
    if (taken_) flag_.clear();
  }
  bool taken() const { return taken_; }

 private:
  std::atomic_flag& flag_;
  const bool taken_;
};

}  // namespace

std::int32_t TypeNumberOf(graph::ElementType type) {
  switch (type) {
    case graph::ElementType::kInt8:
      return TRIBUTARY_DELEGATE_INT8;
    case graph::ElementType::kUint8:
      return TRIBUTARY_DELEGATE_UINT8;
    case graph::ElementType::kInt32:
      return TRIBUTARY_DELEGATE_INT32;
    case graph::ElementType::kInt64:
      return TRIBUTARY_DELEGATE_INT64;
    case graph::ElementType::kBool:
      return TRIBUTARY_DELEGATE_BOOL;
    case graph::ElementType::kFloat32:
      break;
  }
  return TRIBUTARY_DELEGATE_FLOAT32;
}

absl::StatusOr<std::unique_ptr<OpenedDelegate>> OpenedDelegate::Open(
    std::string_view model, const tributary_delegate_options& options) {
  std::unique_ptr<OpenedDelegate> opened(new OpenedDelegate);
  ASSIGN_OR_RETURN(opened->target_, TargetOf(options));
  ASSIGN_OR_RETURN(graph::SessionOptions session, SessionOptionsOf(options));
  if (session.strict && opened->target_ == nullptr) {
    return Refused("strict needs an accelerator other than \"cpu\"");
  }
  session.accelerator = opened->target_.get();
  ASSIGN_OR_RETURN(opened->session_, graph::Session::Load(model, session));
  opened->inputs_ = opened->session_->inputs();
  opened->outputs_ = opened->session_->outputs();
  return opened;
}

const char* OpenedDelegate::WhyNot(const graph::NodeReport& node) const {
  if (target_ == nullptr || OnAccelerator(node) || !node.why.empty()) return node.why.c_str();
  return "it is not between quantised values";
}

tributary_delegate_plan OpenedDelegate::plan() const {
  tributary_delegate_plan plan = {};
  plan.memory_bytes = session_->memory_bytes();
  const graph::AcceleratorReport& report = session_->accelerator();
  plan.nodes = static_cast<std::size_t>(report.all_nodes);
  plan.accelerator_nodes = static_cast<std::size_t>(report.nodes);
  plan.multiply_accumulates = report.all_products;
  plan.accelerator_multiply_accumulates = report.products;
  plan.cycles = report.cycles;
  plan.transfer_cycles = report.transfers;
  if (target_ != nullptr) plan.multiply_accumulates_per_cycle = target_->products_per_cycle();
  return plan;
}

absl::Status OpenedDelegate::Run(std::span<const tributary_delegate_input_array> inputs,
                                 std::span<const tributary_delegate_output_array> outputs) {
  RETURN_IF_ERROR(CheckCount("inputs", inputs.size(), inputs_.size()));
  RETURN_IF_ERROR(CheckCount("outputs", outputs.size(), outputs_.size()));
  std::vector<graph::View> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(CheckArray("inputs", i, inputs_[i], inputs[i].data, inputs[i].bytes, inputs[i].type));
    // A run only reads its inputs.
    views.push_back({&inputs_[i].spec, static_cast<std::byte*>(const_cast<void*>(inputs[i].data))});
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    RETURN_IF_ERROR(
        CheckArray("outputs", o, outputs_[o], outputs[o].data, outputs[o].bytes, outputs[o].type));
  }
  const RunningMark mark(runs_);
  if (!mark.taken()) return absl::UnavailableError("another thread runs this delegate");
  RETURN_IF_ERROR(session_->Run(views));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].bytes > 0) std::memmove(outputs[o].data, session_->output(o).data, outputs[o].bytes);
  }
  return absl::OkStatus();
}

}  // namespace tributary::delegate
