// What of a session's plan concerns layers: they take the place of nodes.
#include <fmt/format.h>

#include <utility>

#include "core/graph/session.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

const SectionTarget& Processor() {
  static const ProcessorTarget processor;
  return processor;
}

// Places of targets.
constexpr std::size_t kOnAccelerator = 0, kOnProcessor = 1;

}  // namespace

absl::Status Session::TakeLayers() {
  const FoundLayers found = FindQuantisedLayers(graph_, specs_);
  std::vector<Step> nodes(graph_.nodes.size());
  std::vector<bool> runs(graph_.nodes.size());
  for (Step& step : steps_) {
    const std::size_t node = step.node;
    runs[node] = true;
    reports_[Place(report_of_[node])].why = found.reasons[node];
    nodes[node] = std::move(step);
  }
  // Tensors that no value of the graph stands for.
  for (auto extra = found.tensors.lower_bound(static_cast<int>(graph_.values.size()));
       extra != found.tensors.end(); ++extra) {
    const QuantisedTensor& tensor = extra->second;
    graph_.values.push_back({.name = tensor.name, .constant = {}});
    specs_.push_back({tensor.quantisation.type, tensor.shape});
    data_.push_back(nullptr);
  }
  why_not_.resize(found.layers.size());
  Partition partition = Divide(graph_, found, runs, [&](const FoundLayer& layer) {
    if (options_.accelerator == nullptr) return kOnProcessor;
    std::string& why_not = why_not_[static_cast<std::size_t>(&layer - found.layers.data())];
    why_not = options_.accelerator->WhyNot(layer.layer, found.tensors.at(layer.layer.input),
                                           found.tensors.at(layer.layer.output));
    return why_not.empty() ? kOnAccelerator : kOnProcessor;
  });
  std::vector<DividedSection> divided(partition.parts.size());
  steps_.clear();
  for (std::size_t p = 0; p < partition.parts.size(); ++p) {
    const Part& part = partition.parts[p];
    if (part.node != Part::kNoNode) {
      steps_.push_back(std::move(nodes[part.node]));
      continue;
    }
    divided[p] = SectionOf(graph_, found, partition, p);
    steps_.push_back({.reads = divided[p].reads, .writes = divided[p].writes});
  }
  covered_ = std::move(partition.covered);
  DropConstants();
  result_bytes_ = PlanResults().all_bytes();
  for (std::size_t p = 0; p < partition.parts.size(); ++p) {
    if (steps_[p].operation != nullptr) continue;
    RETURN_IF_ERROR(PrepareSection(found, partition.parts[p], std::move(divided[p]), steps_[p]));
  }
  return absl::OkStatus();
}

absl::Status Session::TakeFloatLayers() {
  const SectionTarget* const accelerator = options_.accelerator;
  if (accelerator == nullptr) return absl::OkStatus();
  for (Step& step : steps_) {
    if (step.operation == nullptr || !MayBeFloatLayer(graph_.nodes[step.node].operation)) continue;
    const std::size_t report_place = Place(report_of_[step.node]);
    NodeReport& report = reports_[report_place];
    if (accelerator->float_arithmetic().empty()) {
      if (report.why.empty()) report.why = "it is in floats, which are left to the processor";
      continue;
    }
    // The layer has its own weights until it is a program.
    const std::uint64_t weights = step.context.inputs[1]->bytes(), left = MemoryLeft();
    if (weights > left) {
      report.why = fmt::format("its weights take {} bytes more; {} are left", weights, left);
      continue;
    }
    absl::StatusOr<FloatLayer> layer = FloatLayerOf(step.context);
    absl::StatusOr<std::unique_ptr<SectionRunner>> section =
        layer.ok() ? accelerator->PrepareFloats(*std::move(layer), MemoryLeft()) : layer.status();
    if (absl::IsResourceExhausted(section.status()) || absl::IsInvalidArgument(section.status())) {
      report.why = std::string(section.status().message());
      continue;
    }
    RETURN_IF_ERROR(section.status());
    step.section = *std::move(section);
    step.operation = nullptr;
    step.reads.resize(1);
    step.layers = {{report_place}};
    section_bytes_ += step.section->memory_bytes();
    const SectionCycles cycles = step.section->cycles();
    accelerator_.transfers += cycles.transfers;
    accelerator_.cycles += cycles.transfers + cycles.layers.at(0);
    report.runs_on = accelerator->name();
    report.arithmetic = accelerator->float_arithmetic();
    report.layer = report.name;
    report.why.clear();
    report.cycles = cycles.layers[0];
    DropConstants();
  }
  return absl::OkStatus();
}

std::uint64_t Session::MemoryLeft() const {
  const std::uint64_t used = constant_bytes_ + section_bytes_ + result_bytes_;
  return used < options_.memory_bytes ? options_.memory_bytes - used : 0;
}

absl::Status Session::PrepareSection(const FoundLayers& found, const Part& part, DividedSection divided,
                                     Step& step) {
  const std::uint64_t left = MemoryLeft();
  const SectionTarget* target = &Processor();
  if (part.target == kOnAccelerator) {
    absl::StatusOr<std::unique_ptr<SectionRunner>> section =
        options_.accelerator->Prepare(divided.section, left);
    if (section.ok()) {
      target = options_.accelerator;
      step.section = *std::move(section);
    } else if (absl::IsResourceExhausted(section.status()) || absl::IsInvalidArgument(section.status())) {
      for (const std::size_t l : part.layers) why_not_[l] = std::string(section.status().message());
    } else {
      return section.status();
    }
  }
  if (step.section == nullptr) {
    ASSIGN_OR_RETURN(step.section, target->Prepare(std::move(divided.section), left));
  }
  section_bytes_ += step.section->memory_bytes();
  const SectionCycles cycles = step.section->cycles();
  accelerator_.transfers += cycles.transfers;
  accelerator_.cycles += cycles.transfers;
  for (std::size_t i = 0; i < part.layers.size(); ++i) {
    const std::uint64_t own = i < cycles.layers.size() ? cycles.layers[i] : 0;
    accelerator_.cycles += own;
    ReportLayer(found.layers[part.layers[i]], *target, why_not_[part.layers[i]], own);
    std::vector<std::size_t>& nodes = step.layers.emplace_back();
    for (const std::size_t node : found.layers[part.layers[i]].nodes) {
      if (report_of_[node] != kAbsent && covered_[node]) nodes.push_back(Place(report_of_[node]));
    }
  }
  return absl::OkStatus();
}

void Session::ReportLayer(const FoundLayer& layer, const SectionTarget& target, const std::string& why_not,
                          std::uint64_t cycles) {
  for (const std::size_t node : layer.nodes) {
    if (report_of_[node] == kAbsent || !covered_[node]) continue;
    NodeReport& report = reports_[Place(report_of_[node])];
    report.runs_on = target.name();
    report.arithmetic = "int8";
    report.layer = layer.layer.name;
    report.why = why_not;
    if (node == layer.nodes[0]) report.cycles = cycles;
  }
}

absl::Status Session::CheckStrict() const {
  if (!options_.strict || options_.accelerator == nullptr) return absl::OkStatus();
  for (const NodeReport& report : reports_) {
    if (report.runs_on == options_.accelerator->name() || report.operation == "QuantizeLinear" ||
        report.operation == "DequantizeLinear") {
      continue;
    }
    return absl::FailedPreconditionError(fmt::format(
        "{} does not run on the {}: {}", Named(report.name, report.operation), options_.accelerator->name(),
        report.why.empty() ? "it is not between quantised values" : report.why));
  }
  return absl::OkStatus();
}

void Session::CountDelegated() {
  for (const NodeReport& report : reports_) {
    const bool delegated = options_.accelerator != nullptr && report.runs_on == options_.accelerator->name();
    accelerator_.nodes += delegated ? 1 : 0;
    accelerator_.products += delegated ? report.products : 0;
    ++accelerator_.all_nodes;
    accelerator_.all_products += report.products;
  }
}

// Those that no step reads any more: the weights of layers, of which the layers have their own.
void Session::DropConstants() {
  std::vector<bool> read(graph_.values.size());
  for (const Step& step : steps_) {
    for (const int value : step.reads) {
      if (value != kAbsent) read[Place(value)] = true;
    }
  }
  for (const int value : graph_.outputs) read[Place(value)] = true;
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    if (read[v] || graph_.values[v].constant.empty()) continue;
    constant_bytes_ -= specs_[v].bytes();
    graph_.values[v].constant.clear();
  }
}

}  // namespace tributary::graph
