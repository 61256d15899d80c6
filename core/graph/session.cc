#include "core/graph/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/graph/memory_plan.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

std::size_t Place(int value) { return static_cast<std::size_t>(value); }

std::string Named(const Node& node) {
  std::string name = node.name.substr(0, 80);
  for (char& c : name) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return fmt::format("node \"{}\" ({})", name, node.operation.substr(0, 40));
}

absl::Status Exhausted(std::uint64_t needed, std::uint64_t limit) {
  return absl::ResourceExhaustedError(
      fmt::format("the graph needs {} bytes of memory; {} are allowed", needed, limit));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Load(std::string_view file, const SessionOptions& options) {
  ASSIGN_OR_RETURN(Graph graph, ReadOnnx(file, options.reader));
  std::unique_ptr<Session> session(new Session(std::move(graph), options.memory_bytes));
  RETURN_IF_ERROR(session->Plan());
  return session;
}

Session::Session(Graph graph, std::uint64_t memory_limit)
    : graph_(std::move(graph)),
      memory_limit_(memory_limit),
      specs_(graph_.values.size()),
      data_(graph_.values.size()) {
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    if (graph_.values[v].constant.empty()) continue;
    specs_[v] = graph_.values[v].constant[0].spec;
    constant_bytes_ += specs_[v].bytes();
  }
  for (const GraphInput& input : graph_.inputs) specs_[Place(input.value)] = input.spec;
}

const Array* Session::ConstantOf(int value) const {
  const std::vector<Array>& constant = graph_.values[Place(value)].constant;
  return constant.empty() ? nullptr : &constant[0];
}

View Session::ViewOf(int value) const {
  if (const Array* const constant = ConstantOf(value)) return constant->view();
  return {&specs_[Place(value)], data_[Place(value)]};
}

absl::Status Session::Plan() {
  for (const Node& node : graph_.nodes) {
    if (const absl::Status status = PlanNode(node); !status.ok()) return WithContext(Named(node), status);
  }
  return PlaceResults();
}

absl::StatusOr<NodeContext> Session::ContextOf(const Node& node, const Operation& operation) const {
  if (node.inputs.size() < operation.least_inputs || node.inputs.size() > operation.most_inputs) {
    return absl::InvalidArgumentError(fmt::format("{} inputs; {} to {} are expected", node.inputs.size(),
                                                  operation.least_inputs, operation.most_inputs));
  }
  NodeContext context{.node = &node, .inputs = {}, .constants = {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const int value = node.inputs[i];
    if (value == kAbsent && i < operation.least_inputs) {
      return absl::InvalidArgumentError(fmt::format("input {} is missing", i));
    }
    context.inputs.push_back(value == kAbsent ? nullptr : &specs_[Place(value)]);
    context.constants.push_back(value == kAbsent ? nullptr : ConstantOf(value));
  }
  return context;
}

absl::Status Session::PlanNode(const Node& node) {
  const Operation* const operation = FindOperation(node.operation);
  if (operation == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("this operation is not known; these are: {}", fmt::join(OperationNames(), ", ")));
  }
  ASSIGN_OR_RETURN(NodeContext context, ContextOf(node, *operation));
  ASSIGN_OR_RETURN(std::vector<Spec> results, operation->infer(context));
  if (results.size() < node.outputs.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} outputs; it gives {}", node.outputs.size(), results.size()));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    specs_[Place(node.outputs[i])] = std::move(results[i]);
  }
  Step step{.context = std::move(context), .operation = operation, .inputs = {}, .outputs = {}};
  bool known = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    known = known && (node.inputs[i] == kAbsent || step.context.constants[i] != nullptr);
  }
  RETURN_IF_ERROR(CountProducts(step));
  // A shape is known wherever the elements come from.
  if (known || node.operation == "Shape") return Fold(step);
  steps_.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Session::CountProducts(const Step& step) {
  if (step.operation->products == nullptr) return absl::OkStatus();
  products_ += step.operation->products(step.context, specs_[Place(step.context.node->outputs[0])]);
  if (products_ <= kMostProducts) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "up to here the graph takes {} multiply-accumulates; at most {} are taken", products_, kMostProducts));
}

absl::Status Session::Fold(const Step& step) {
  const Node& node = *step.context.node;
  std::vector<Array> results;
  std::vector<View> inputs, outputs;
  for (const int value : node.inputs) inputs.push_back(value == kAbsent ? View{} : ViewOf(value));
  for (const int value : node.outputs) {
    constant_bytes_ += specs_[Place(value)].bytes();
    if (constant_bytes_ > memory_limit_) return Exhausted(constant_bytes_, memory_limit_);
    results.emplace_back(specs_[Place(value)]);
  }
  if (step.operation->scratch != nullptr) {
    const std::uint64_t scratch =
        sizeof(float) * static_cast<std::uint64_t>(step.operation->scratch(step.context));
    if (constant_bytes_ + scratch > memory_limit_) return Exhausted(constant_bytes_ + scratch, memory_limit_);
  }
  for (const Array& result : results) outputs.push_back(result.view());
  RETURN_IF_ERROR(step.operation->run(step.context, {inputs, outputs, &scratch_}));
  for (std::size_t i = 0; i < results.size(); ++i) {
    graph_.values[Place(node.outputs[i])].constant.push_back(std::move(results[i]));
  }
  return absl::OkStatus();
}

absl::Status Session::PlaceResults() {
  constexpr std::size_t kForEver = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> last_use(specs_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (const int value : steps_[s].context.node->inputs) {
      if (value != kAbsent) last_use[Place(value)] = s;
    }
  }
  for (const int value : graph_.outputs) last_use[Place(value)] = kForEver;

  MemoryPlan plan;
  std::vector<std::size_t> offsets(specs_.size());
  std::vector<bool> placed(specs_.size());
  std::int64_t scratch = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Node& node = *steps_[s].context.node;
    for (const int value : node.outputs) {
      offsets[Place(value)] = plan.Take(specs_[Place(value)].bytes());
      placed[Place(value)] = true;
      last_use[Place(value)] = std::max(last_use[Place(value)], s);
    }
    const auto give_back = [&](int value) {
      if (value == kAbsent || !placed[Place(value)] || last_use[Place(value)] != s) return;
      plan.GiveBack(offsets[Place(value)], specs_[Place(value)].bytes());
      last_use[Place(value)] = kForEver;  // a node may read a value twice
    };
    std::ranges::for_each(node.inputs, give_back);
    std::ranges::for_each(node.outputs, give_back);
    if (steps_[s].operation->scratch != nullptr) {
      scratch = std::max(scratch, steps_[s].operation->scratch(steps_[s].context));
    }
  }
  const std::uint64_t needed =
      constant_bytes_ + plan.bytes() + sizeof(float) * static_cast<std::uint64_t>(scratch);
  if (needed > memory_limit_) return Exhausted(needed, memory_limit_);
  arena_.resize(plan.bytes() + MemoryPlan::kAlignment);
  scratch_.columns.resize(static_cast<std::size_t>(scratch));
  void* begin = arena_.data();
  std::size_t room = arena_.size();
  std::align(MemoryPlan::kAlignment, plan.bytes(), begin, room);
  for (std::size_t v = 0; v < specs_.size(); ++v) {
    if (placed[v]) data_[v] = static_cast<std::byte*>(begin) + offsets[v];
  }
  return absl::OkStatus();
}

void Session::Connect(Step& step) const {
  step.inputs.clear();
  step.outputs.clear();
  for (const int value : step.context.node->inputs)
    step.inputs.push_back(value == kAbsent ? View{} : ViewOf(value));
  for (const int value : step.context.node->outputs) step.outputs.push_back(ViewOf(value));
}

absl::Status Session::Run(std::span<const View> inputs) {
  if (inputs.size() != graph_.inputs.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} inputs; the graph has {}", inputs.size(), graph_.inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GraphInput& expected = graph_.inputs[i];
    if (*inputs[i].spec != expected.spec) {
      return absl::InvalidArgumentError(fmt::format("input \"{}\" is {}; {} is expected",
                                                    graph_.values[Place(expected.value)].name,
                                                    inputs[i].spec->Text(), expected.spec.Text()));
    }
    data_[Place(expected.value)] = inputs[i].data;
  }
  for (Step& step : steps_) {
    Connect(step);
    const absl::Status status = step.operation->run(step.context, {step.inputs, step.outputs, &scratch_});
    if (!status.ok()) return WithContext(Named(*step.context.node), status);
  }
  return absl::OkStatus();
}

std::vector<PortReport> Session::inputs() const {
  std::vector<PortReport> ports;
  for (const GraphInput& input : graph_.inputs)
    ports.push_back({graph_.values[Place(input.value)].name, input.spec});
  return ports;
}

std::vector<PortReport> Session::outputs() const {
  std::vector<PortReport> ports;
  for (const int value : graph_.outputs)
    ports.push_back({graph_.values[Place(value)].name, *ViewOf(value).spec});
  return ports;
}

std::vector<NodeReport> Session::nodes() const {
  std::vector<NodeReport> reports;
  for (const Step& step : steps_) {
    const Node& node = *step.context.node;
    const Spec& result = specs_[Place(node.outputs[0])];
    reports.push_back(
        {node.name, node.operation, result.Text(),
         step.operation->products == nullptr ? 0 : step.operation->products(step.context, result)});
  }
  return reports;
}

std::uint64_t Session::memory_bytes() const {
  return constant_bytes_ + arena_.size() + sizeof(float) * scratch_.columns.size();
}

}  // namespace tributary::graph
