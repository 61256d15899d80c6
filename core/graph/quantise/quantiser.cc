#include "core/graph/quantise/quantiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "core/graph/operation.h"
#include "core/graph/quantise/clusters.h"
#include "core/graph/quantise/model_edit.h"
#include "core/graph/quantise/outlier_channels.h"
#include "core/graph/quantise/qdq_writer.h"
#include "core/graph/session.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// The file with these values as outputs besides its own.
std::string WithOutputs(const std::string& file, const std::vector<std::string>& values) {
  onnx::ModelProto model;
  model.ParseFromArray(file.data(), static_cast<int>(file.size()));
  for (const std::string& value : values) model.mutable_graph()->add_output()->set_name(value);
  return model.SerializeAsString();
}

// The examples, cut into runs of a session.
class Examples {
 public:
  static absl::StatusOr<Examples> Cut(const std::map<std::string, Array>& arrays, const Session& session) {
    Examples examples;
    std::set<std::string> unused;
    for (const auto& [name, array] : arrays) unused.insert(name);
    for (const PortReport& input : session.inputs()) {
      const auto given = arrays.find(input.name);
      if (given == arrays.end()) {
        return absl::InvalidArgumentError(
            fmt::format("examples for the input {} are missing: {}", Quoted(input.name), input.spec.Text()));
      }
      unused.erase(input.name);
      const Array& array = given->second;
      Shape rest = array.spec.shape, expected = input.spec.shape;
      const bool has_runs = !rest.empty() && !expected.empty() && expected[0] > 0 && rest[0] > 0;
      const std::int64_t all = has_runs ? std::exchange(rest[0], 0) : 0;
      const std::int64_t each = has_runs ? std::exchange(expected[0], 0) : 1;
      if (!has_runs || rest != expected || array.spec.type != input.spec.type || all % each != 0) {
        return absl::InvalidArgumentError(
            fmt::format("examples for the input {} are {}; {} with more of its first dimension is expected",
                        Quoted(input.name), array.spec.Text(), input.spec.Text()));
      }
      const auto runs = Size(all / each);
      if (examples.runs_ != 0 && runs != examples.runs_) {
        return absl::InvalidArgumentError(
            fmt::format("{} examples for one input, {} for {}", examples.runs_, runs, Quoted(input.name)));
      }
      examples.runs_ = runs;
      examples.inputs_.push_back({&array, input.spec});
    }
    if (!unused.empty()) {
      return absl::InvalidArgumentError(fmt::format("the graph has no input {}", Quoted(*unused.begin())));
    }
    if (examples.runs_ == 0) return absl::InvalidArgumentError("the graph has no input to calibrate with");
    return examples;
  }

  std::size_t runs() const { return runs_; }

  absl::Status Run(std::size_t run, Session& session) const {
    std::vector<View> views;
    for (const Input& input : inputs_) {
      std::byte* const data = const_cast<std::byte*>(input.array->bytes.data()) + run * input.spec.bytes();
      views.push_back({&input.spec, data});
    }
    return session.Run(views);
  }

 private:
  struct Input {
    const Array* array;
    Spec spec;
  };
  std::vector<Input> inputs_;
  std::size_t runs_ = 0;
};

class Quantiser {
 public:
  Quantiser(const std::map<std::string, Array>& examples, const QuantiserOptions& options)
      : arrays_(examples), options_(options) {}

  absl::StatusOr<QuantiserReport> Quantise(std::string_view file) && {
    // Finds what is wrong with the graph before it is changed.
    RETURN_IF_ERROR(Session::Load(file, Options(Arithmetic::kAsWritten)).status());
    ASSIGN_OR_RETURN(ModelEdit original, ModelEdit::Open(file, options_.reader));
    report_.folded_batch_norms = FoldBatchNorms(original);
    std::string folded = original.Bytes();
    if (options_.split_share > 0) {
      ASSIGN_OR_RETURN(ModelEdit split, ModelEdit::Open(folded, options_.reader));
      report_.split_channels = SplitOutlierChannels(split, options_.split_share);
      folded = split.Bytes();
    }
    ASSIGN_OR_RETURN(ModelEdit edit, ModelEdit::Open(folded, options_.reader));
    ASSIGN_OR_RETURN(const std::vector<Cluster> clusters, WatchedClusters(folded, edit));
    NameValues(edit, clusters);
    RETURN_IF_ERROR(Calibrate());
    ASSIGN_OR_RETURN(const auto grids, ChooseGrids(clusters));
    ASSIGN_OR_RETURN(const auto dequantised, WriteQdq(clusters, grids, edit));
    report_.file = edit.Bytes();
    RETURN_IF_ERROR(MeasureErrors(dequantised));
    return std::move(report_);
  }

 private:
  SessionOptions Options(Arithmetic arithmetic) const {
    return {.reader = options_.reader, .memory_bytes = options_.memory_bytes, .arithmetic = arithmetic};
  }

  void Step() {
    if (options_.progress) options_.progress(++done_, 3 * runs_);
  }

  // Opens the float session with all values as outputs that a cluster might read or give, and keeps those
  // whose shapes fit.
  absl::StatusOr<std::vector<Cluster>> WatchedClusters(const std::string& folded, const ModelEdit& edit) {
    const std::vector<Cluster> possible = FindClusters(edit, {});
    std::set<std::string> watched;
    for (const Cluster& cluster : possible) {
      watched.insert(cluster.operands.begin(), cluster.operands.end());
      watched.insert(cluster.end);
      watched.insert(edit.node(cluster.node).output(0));
    }
    const std::vector<std::string> values(watched.begin(), watched.end());
    ASSIGN_OR_RETURN(floats_, Session::Load(WithOutputs(folded, values), Options(Arithmetic::kAsWritten)));
    ASSIGN_OR_RETURN(examples_, Examples::Cut(arrays_, *floats_));
    report_.examples = runs_ = examples_.runs();
    const std::vector<PortReport> outputs = floats_->outputs();
    std::map<std::string, Shape> shapes;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      places_[outputs[o].name] = o;
      shapes[outputs[o].name] = outputs[o].spec.shape;
    }
    std::vector<Cluster> clusters = FindClusters(edit, shapes);
    if (clusters.empty()) {
      return absl::InvalidArgumentError(
          "nothing can be quantised: the graph has no convolution and no product with constant float "
          "weights");
    }
    return clusters;
  }

  void NameValues(const ModelEdit& edit, const std::vector<Cluster>& clusters) {
    std::set<std::string> named;
    std::set<int> inside;
    const auto add = [&](const std::string& value, int node) {
      if (!named.insert(value).second) return;
      QuantisedValue added{.name = value, .node = {}, .operation = {}};
      if (node != ModelEdit::kNoNode) {
        added.node = edit.node(node).name().empty() ? edit.node(node).output(0) : edit.node(node).name();
        added.operation = edit.node(node).op_type();
      }
      report_.values.push_back(std::move(added));
    };
    for (const Cluster& cluster : clusters) {
      for (const std::string& operand : cluster.operands) add(operand, edit.ProducerOf(operand));
      add(cluster.end, cluster.node);
      inside.insert(cluster.node);
      for (int n = edit.ProducerOf(cluster.end); n != cluster.node;) {
        inside.insert(n);
        const onnx::NodeProto& node = edit.node(n);
        const int first = edit.ProducerOf(node.input(0));
        n = first == ModelEdit::kNoNode ? edit.ProducerOf(node.input(1)) : first;
      }
    }
    for (int n = 0; n < edit.nodes(); ++n) {
      const onnx::NodeProto& node = edit.node(n);
      if (inside.contains(n) || node.op_type() == "Constant") continue;
      report_.left_in_floats.push_back(fmt::format(
          "node {} ({})", Quoted(node.name().empty() ? node.output(0) : node.name()), node.op_type()));
    }
  }

  std::span<const float> FloatsOf(const QuantisedValue& value) const {
    return floats_->output(places_.at(value.name)).As<float>();
  }

  absl::Status Calibrate() {
    statistics_.resize(report_.values.size());
    for (std::size_t run = 0; run < runs_; ++run) {
      RETURN_IF_ERROR(examples_.Run(run, *floats_));
      for (std::size_t v = 0; v < statistics_.size(); ++v) {
        if (floats_->output(places_.at(report_.values[v].name)).spec->type != ElementType::kFloat32) {
          return absl::InvalidArgumentError(
              fmt::format("the value {} is not float32", Quoted(report_.values[v].name)));
        }
        statistics_[v].AddEnds(FloatsOf(report_.values[v]));
        if (statistics_[v].finite()) continue;
        return absl::InvalidArgumentError(
            fmt::format("the value {} is not finite on example {}", Quoted(report_.values[v].name), run + 1));
      }
      Step();
    }
    if (options_.rule == RangeRule::kMinMax) {
      for (std::size_t run = 0; run < runs_; ++run) Step();
      return absl::OkStatus();
    }
    for (std::size_t run = 0; run < runs_; ++run) {
      RETURN_IF_ERROR(examples_.Run(run, *floats_));
      for (std::size_t v = 0; v < statistics_.size(); ++v) statistics_[v].Count(FloatsOf(report_.values[v]));
      Step();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::map<std::string, Quantisation>> ChooseGrids(const std::vector<Cluster>& clusters) {
    std::map<std::string, Range> ranges;
    for (std::size_t v = 0; v < statistics_.size(); ++v) {
      ranges[report_.values[v].name] = statistics_[v].RangeBy(options_.rule, options_.percentile);
    }
    for (const Cluster& cluster : clusters) {
      if (cluster.keeps_grid) ranges[cluster.end] = ranges.at(cluster.operands[0]);
    }
    std::map<std::string, Quantisation> grids;
    for (QuantisedValue& value : report_.values) {
      value.range = ranges.at(value.name);
      value.quantisation = QuantisationFor(value.range, options_.activations);
      grids[value.name] = value.quantisation;
    }
    return grids;
  }

  // Both graphs on all examples.
  absl::Status MeasureErrors(const std::map<std::string, std::string>& dequantised) {
    std::vector<std::string> watched;
    for (const QuantisedValue& value : report_.values) {
      const auto other = dequantised.find(value.name);
      watched.push_back(other == dequantised.end() ? value.name : other->second);
    }
    const std::string file = WithOutputs(report_.file, watched);
    ASSIGN_OR_RETURN(const auto quantised, Session::Load(file, Options(Arithmetic::kIntegers)));
    const std::vector<PortReport> outputs = quantised->outputs();
    const std::size_t own = outputs.size() - watched.size();
    std::vector<double> noise(outputs.size()), signal(outputs.size());
    for (std::size_t run = 0; run < runs_; ++run) {
      RETURN_IF_ERROR(examples_.Run(run, *floats_));
      RETURN_IF_ERROR(examples_.Run(run, *quantised));
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const auto place = places_.find(o < own ? outputs[o].name : report_.values[o - own].name);
        if (place == places_.end() || outputs[o].spec.type != ElementType::kFloat32) continue;
        const auto expected = floats_->output(place->second).As<float>(),
                   found = quantised->output(o).As<float>();
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double difference = static_cast<double>(found[i]) - expected[i];
          noise[o] += difference * difference;
          signal[o] += static_cast<double>(expected[i]) * expected[i];
        }
      }
      Step();
    }
    const auto error = [&](std::size_t o) {
      return noise[o] == 0 ? 0.0 : std::sqrt(noise[o] / std::max(signal[o], 1e-300));
    };
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (o < own) {
        report_.outputs[outputs[o].name] = error(o);
      } else {
        report_.values[o - own].relative_error = error(o);
      }
    }
    return absl::OkStatus();
  }

  const std::map<std::string, Array>& arrays_;
  const QuantiserOptions& options_;
  std::unique_ptr<Session> floats_;
  std::map<std::string, std::size_t> places_;  // of outputs of floats_
  Examples examples_;
  std::size_t runs_ = 0, done_ = 0;
  std::vector<ValueStatistics> statistics_;  // of each value of the report
  QuantiserReport report_;
};

}  // namespace

absl::StatusOr<QuantiserReport> Quantise(std::string_view file, const std::map<std::string, Array>& examples,
                                         const QuantiserOptions& options) {
  return Quantiser(examples, options).Quantise(file);
}

}  // namespace tributary::graph
