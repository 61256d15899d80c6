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

absl::Status Exhausted(std::uint64_t needed, std::uint64_t limit) {
  return absl::ResourceExhaustedError(
      fmt::format("the graph needs {} bytes of memory; {} are allowed", needed, limit));
}

}  // namespace

std::string Session::Named(const std::string& name, const std::string& operation) {
  return fmt::format("node {} ({})", Quoted(name), operation.substr(0, 40));
}

absl::StatusOr<std::unique_ptr<Session>> Session::Load(std::string_view file, const SessionOptions& options) {
  ASSIGN_OR_RETURN(Graph graph, ReadOnnx(file, options.reader));
  std::unique_ptr<Session> session(new Session(std::move(graph), options));
  RETURN_IF_ERROR(session->Plan());
  return session;
}

Session::Session(Graph graph, const SessionOptions& options)
    : graph_(std::move(graph)), options_(options), specs_(graph_.values.size()), data_(graph_.values.size()) {
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
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (const absl::Status status = PlanNode(n); !status.ok())
      return WithContext(Named(graph_.nodes[n].name, graph_.nodes[n].operation), status);
  }
  ReportNodes();
  if (options_.arithmetic == Arithmetic::kIntegers) {
    RETURN_IF_ERROR(TakeLayers());
    RETURN_IF_ERROR(TakeFloatLayers());
  }
  RETURN_IF_ERROR(CheckStrict());
  CountDelegated();
  return PlaceResults();
}

void Session::ReportNodes() {
  report_of_.resize(graph_.nodes.size(), kAbsent);
  for (const Step& step : steps_) {
    report_of_[step.node] = static_cast<int>(reports_.size());
    const Node& node = *step.context.node;
    const Spec& result = specs_[Place(node.outputs[0])];
    const bool floats = std::ranges::any_of(step.context.inputs, [](const Spec* input) {
      return input != nullptr && input->type == ElementType::kFloat32;
    });
    reports_.push_back(
        {.name = node.name,
         .operation = node.operation,
         .result = result.Text(),
         .products = step.operation->products == nullptr ? 0 : step.operation->products(step.context, result),
         .runs_on = "processor",
         .arithmetic = std::string(NameOf(floats ? ElementType::kFloat32 : result.type)),
         .layer = {},
         .why = {}});
  }
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
      return absl::InvalidArgumentError(InputText(context, i) + " is missing");
    }
    context.inputs.push_back(value == kAbsent ? nullptr : &specs_[Place(value)]);
    context.constants.push_back(value == kAbsent ? nullptr : ConstantOf(value));
  }
  return context;
}

absl::Status Session::PlanNode(std::size_t place) {
  const Node& node = graph_.nodes[place];
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
  Step step{.node = place,
            .context = std::move(context),
            .operation = operation,
            .reads = node.inputs,
            .writes = node.outputs};
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
    if (constant_bytes_ > options_.memory_bytes) return Exhausted(constant_bytes_, options_.memory_bytes);
    results.emplace_back(specs_[Place(value)]);
  }
  if (step.operation->scratch != nullptr) {
    const std::uint64_t scratch =
        sizeof(float) * static_cast<std::uint64_t>(step.operation->scratch(step.context));
    if (constant_bytes_ + scratch > options_.memory_bytes)
      return Exhausted(constant_bytes_ + scratch, options_.memory_bytes);
  }
  for (const Array& result : results) outputs.push_back(result.view());
  RETURN_IF_ERROR(step.operation->run(step.context, {inputs, outputs, &scratch_}));
  for (std::size_t i = 0; i < results.size(); ++i) {
    graph_.values[Place(node.outputs[i])].constant.push_back(std::move(results[i]));
  }
  return absl::OkStatus();
}

Session::ResultPlaces Session::PlanResults() const {
  constexpr std::size_t kForEver = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> last_use(specs_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (const int value : steps_[s].reads) {
      if (value != kAbsent) last_use[Place(value)] = s;
    }
  }
  for (const int value : graph_.outputs) last_use[Place(value)] = kForEver;

  MemoryPlan plan;
  ResultPlaces places{.offsets = std::vector<std::size_t>(specs_.size()),
                      .placed = std::vector<bool>(specs_.size())};
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    for (const int value : step.writes) {
      places.offsets[Place(value)] = plan.Take(specs_[Place(value)].bytes());
      places.placed[Place(value)] = true;
      last_use[Place(value)] = std::max(last_use[Place(value)], s);
    }
    const auto give_back = [&](int value) {
      if (value == kAbsent || !places.placed[Place(value)] || last_use[Place(value)] != s) return;
      plan.GiveBack(places.offsets[Place(value)], specs_[Place(value)].bytes());
      last_use[Place(value)] = kForEver;  // a node may read a value twice
    };
    std::ranges::for_each(step.reads, give_back);
    std::ranges::for_each(step.writes, give_back);
    if (step.operation != nullptr && step.operation->scratch != nullptr) {
      const std::int64_t scratch = step.operation->scratch(step.context);
      places.scratch = std::max(places.scratch, static_cast<std::size_t>(scratch));
    }
  }
  places.bytes = plan.bytes();
  return places;
}

absl::Status Session::PlaceResults() {
  const ResultPlaces places = PlanResults();
  const std::uint64_t needed = constant_bytes_ + section_bytes_ + places.all_bytes();
  if (needed > options_.memory_bytes) return Exhausted(needed, options_.memory_bytes);
  arena_.resize(places.bytes + MemoryPlan::kAlignment);
  scratch_.columns.resize(places.scratch);
  void* begin = arena_.data();
  std::size_t room = arena_.size();
  std::align(MemoryPlan::kAlignment, places.bytes, begin, room);
  for (std::size_t v = 0; v < specs_.size(); ++v) {
    if (places.placed[v]) data_[v] = static_cast<std::byte*>(begin) + places.offsets[v];
  }
  return absl::OkStatus();
}

void Session::Connect(Step& step) const {
  step.inputs.clear();
  step.outputs.clear();
  for (const int value : step.reads) step.inputs.push_back(value == kAbsent ? View{} : ViewOf(value));
  for (const int value : step.writes) step.outputs.push_back(ViewOf(value));
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
  accelerator_.counted_cycles = 0;
  times_.clear();
  for (Step& step : steps_) {
    const auto begin =
        keeps_times_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    RETURN_IF_ERROR(RunStep(step));
    if (keeps_times_) TakeTimes(step, begin);
  }
  return absl::OkStatus();
}

absl::Status Session::RunStep(Step& step) {
  Connect(step);
  if (step.section != nullptr) {
    RETURN_IF_ERROR(step.section->Run(step.inputs, step.outputs));
    accelerator_.counted_cycles += step.section->counted_cycles();
    return absl::OkStatus();
  }
  const absl::Status status = step.operation->run(step.context, {step.inputs, step.outputs, &scratch_});
  return status.ok() ? status
                     : WithContext(Named(step.context.node->name, step.context.node->operation), status);
}

void Session::KeepTimes() {
  keeps_times_ = true;
  parts_.clear();
  std::size_t time = 0;
  for (const Step& step : steps_) {
    if (step.section == nullptr) {
      parts_.push_back({.nodes = {Place(report_of_[step.node])}, .time = time++});
      continue;
    }
    step.section->KeepTimes();
    const bool apart = step.section->layer_times().size() == step.layers.size();
    if (apart) parts_.push_back({.time = time++});
    for (const std::vector<std::size_t>& layer : step.layers) {
      parts_.push_back({.nodes = layer, .time = time});
      time += apart ? 1 : 0;
    }
    time += apart ? 0 : 1;
  }
}

void Session::TakeTimes(const Step& step, std::chrono::steady_clock::time_point begin) {
  const std::chrono::nanoseconds all = std::chrono::steady_clock::now() - begin;
  times_.push_back(all);
  if (step.section == nullptr) return;
  const std::span<const std::chrono::nanoseconds> layers = step.section->layer_times();
  if (layers.size() != step.layers.size()) return;
  // What is left is the way in and out.
  std::chrono::nanoseconds& ends = times_.back();
  for (const std::chrono::nanoseconds layer : layers) ends -= layer;
  times_.insert(times_.end(), layers.begin(), layers.end());
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

std::uint64_t Session::memory_bytes() const {
  return constant_bytes_ + section_bytes_ + arena_.size() + sizeof(float) * scratch_.columns.size();
}

}  // namespace tributary::graph
