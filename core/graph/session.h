// A graph that is ready to run: checked, planned, its memory known.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/graph/array.h"
#include "core/graph/node.h"
#include "core/graph/onnx_reader.h"
#include "core/graph/operation.h"
#include "core/graph/quantised/partition.h"
#include "core/graph/quantised/section_runner.h"

namespace tributary::graph {

enum class Arithmetic {
  kAsWritten,  // every node for itself, quantised layers in floats: the reference
  kIntegers,   // the quantised layers that FindQuantisedLayers finds, in integers
};

struct SessionOptions {
  ReaderOptions reader = {};
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;  // for constants, results and scratch
  Arithmetic arithmetic = Arithmetic::kIntegers;
  // Computes the quantised layers that it takes; null: the processor does. Outlives the session.
  const SectionTarget* accelerator = nullptr;
  // Refuses a graph of which the processor would compute more than QuantizeLinear and DequantizeLinear.
  bool strict = false;
};

// Multiply-accumulates of a run and of what is computed when the graph is loaded: some ten seconds.
inline constexpr std::int64_t kMostProducts = 100'000'000'000;

struct PortReport {
  std::string name;
  Spec spec;
};

struct NodeReport {
  std::string name, operation;
  std::string result;         // "float32 [1, 16, 14, 14]", of its first output
  std::int64_t products = 0;  // multiply-accumulates of a run
  std::string runs_on;        // the name of a target
  std::string arithmetic;     // "int8" within a quantised layer; else "float32", or the type of the result
  std::string layer;          // which one, by the name of the node that gives its sums; empty: none
  std::string why;            // it is no part of a layer, or its layer not on the accelerator; else empty
  std::uint64_t cycles = 0;   // of the accelerator in a run, if this node gives a layer's sums
};

// What runs on the accelerator, and what a run takes of it.
struct AcceleratorReport {
  std::int64_t nodes = 0, all_nodes = 0;
  std::int64_t products = 0, all_products = 0;  // multiply-accumulates of a run
  std::uint64_t cycles = 0;                     // of all layers and transfers, as the target plans them
  std::uint64_t transfers = 0;                  // of them
  std::uint64_t counted_cycles = 0;  // of the last run, as the accelerator counted them; 0: it does not
};

// A node or a layer, as a run computes it.
struct RunPart {
  std::vector<std::size_t> nodes = {};  // places in nodes(), that which gives a layer's sums first; empty:
                                        // what goes into and out of the layers behind
  std::size_t time = 0;                 // place in times(); layers that are computed in one go share it
};

// Owns all memory that a run takes; a run allocates small lists only. One thread at a time. The results are
// those of ONNX's semantics in float32; sums of products are made in another order than a reference's. The
// result of each quantised layer in integers is within one step of what the floats give for the same input.
class Session {
 public:
  // Nodes whose inputs are all known are computed now. Errors: those of ReadOnnx; InvalidArgument, naming the
  // node, for an operation that is not known or that does not take its inputs, and for more than
  // kMostProducts; FailedPrecondition, if strict, naming a node and why; ResourceExhausted if the memory does
  // not suffice, before it is allocated.
  static absl::StatusOr<std::unique_ptr<Session>> Load(std::string_view file,
                                                       const SessionOptions& options = {});

  // The file's, of ours.
  const std::map<std::string, std::string, std::less<>>& metadata() const { return graph_.metadata; }
  std::vector<PortReport> inputs() const;
  std::vector<PortReport> outputs() const;
  // Those that a run computes, or that its layers stand for, in the graph's order.
  const std::vector<NodeReport>& nodes() const { return reports_; }
  std::uint64_t memory_bytes() const;
  const AcceleratorReport& accelerator() const { return accelerator_; }

  // Computes the outputs. Errors: InvalidArgument for other inputs than inputs() says, and for values that a
  // node cannot take, naming it.
  absl::Status Run(std::span<const View> inputs);

  // From now on keeps how long the parts of a run take.
  void KeepTimes();
  // In the order of a run; empty without KeepTimes.
  const std::vector<RunPart>& parts() const { return parts_; }
  // Those of the last run.
  std::span<const std::chrono::nanoseconds> times() const { return times_; }

  // What the last run gave, until the next.
  View output(std::size_t index) const { return ViewOf(graph_.outputs[index]); }

 private:
  // A node, or layers.
  struct Step {
    std::size_t node = Part::kNoNode;  // place in the graph
    NodeContext context = {};
    const Operation* operation = nullptr;
    std::unique_ptr<SectionRunner> section = nullptr;
    std::vector<std::vector<std::size_t>> layers = {};  // of the section: places in nodes()
    std::vector<int> reads = {}, writes = {};           // values; kAbsent: an input that is left out
    std::vector<View> inputs = {}, outputs = {};
  };

  // Where the results of the steps lie, in memory that they share.
  struct ResultPlaces {
    std::vector<std::size_t> offsets;  // of each value that is placed
    std::vector<bool> placed;
    std::size_t bytes = 0;
    std::size_t scratch = 0;  // floats, of the step that takes most

    std::uint64_t all_bytes() const { return bytes + sizeof(float) * scratch; }
  };

  Session(Graph graph, const SessionOptions& options);

  static std::size_t Place(int value) { return static_cast<std::size_t>(value); }
  // "node "NAME" (OPERATION)", fit for a message.
  static std::string Named(const std::string& name, const std::string& operation);

  absl::Status Plan();
  absl::Status PlanNode(std::size_t place);
  void ReportNodes();
  // Puts layers in the place of nodes.
  absl::Status TakeLayers();
  // Gives convolutions and products in floats to an accelerator that takes them.
  absl::Status TakeFloatLayers();
  absl::Status CheckStrict() const;
  void CountDelegated();
  absl::Status PrepareSection(const FoundLayers& found, const Part& part, DividedSection divided, Step& step);
  // What the plan says of nodes that a layer stands for.
  void ReportLayer(const FoundLayer& layer, const SectionTarget& target, const std::string& why_not,
                   std::uint64_t cycles);
  void DropConstants();
  std::uint64_t MemoryLeft() const;
  absl::StatusOr<NodeContext> ContextOf(const Node& node, const Operation& operation) const;
  absl::Status CountProducts(const Step& step);
  // Computes a node whose inputs are known.
  absl::Status Fold(const Step& step);
  ResultPlaces PlanResults() const;
  absl::Status PlaceResults();
  View ViewOf(int value) const;
  const Array* ConstantOf(int value) const;
  void Connect(Step& step) const;
  absl::Status RunStep(Step& step);
  // Behind those of the steps before: of a step that began then.
  void TakeTimes(const Step& step, std::chrono::steady_clock::time_point begin);

  Graph graph_;
  const SessionOptions options_;
  std::deque<Spec> specs_;        // of each value
  std::vector<std::byte*> data_;  // of each value that is no constant; an input's: the caller's
  std::vector<Step> steps_;
  std::vector<NodeReport> reports_;
  std::vector<int> report_of_;  // of each node of the graph; kAbsent: none
  std::vector<bool> covered_;   // of each node of the graph: layers stand for it
  bool keeps_times_ = false;
  std::vector<RunPart> parts_;
  std::vector<std::chrono::nanoseconds> times_;
  std::vector<std::string> why_not_;  // of each layer that was found: on the accelerator
  AcceleratorReport accelerator_;
  std::uint64_t constant_bytes_ = 0;
  std::uint64_t section_bytes_ = 0;
  std::uint64_t result_bytes_ = 0;  // kept free for results while layers take memory
  std::int64_t products_ = 0;
  Scratch scratch_;
  std::vector<std::byte> arena_;
};

}  // namespace tributary::graph
