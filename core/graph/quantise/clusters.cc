#include "core/graph/quantise/clusters.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace tributary::graph {
namespace {

constexpr std::string_view kKeepGrid[] = {"MaxPool", "GlobalMaxPool", "Reshape",   "Flatten", "Identity",
                                          "Squeeze", "Unsqueeze",     "Transpose", "Dropout"};
constexpr std::string_view kChangeGrid[] = {"AveragePool", "GlobalAveragePool", "Relu", "Clip"};

bool IsOneOf(std::string_view name, auto& names) { return std::ranges::find(names, name) != std::end(names); }

bool IsFloatConstant(const ModelEdit& edit, const std::string& value, std::size_t least_rank) {
  const Array* const constant = edit.ConstantOf(value);
  return constant != nullptr && constant->spec.type == ElementType::kFloat32 &&
         constant->spec.shape.size() >= least_rank && constant->spec.elements() > 0;
}

bool HasWeights(const ModelEdit& edit, const onnx::NodeProto& node) {
  if (node.input_size() < 2 || edit.ConstantOf(node.input(0)) != nullptr) return false;
  if (node.op_type() == "Conv") return IsFloatConstant(edit, node.input(1), 3);
  if (node.op_type() == "Gemm") {
    return ModelEdit::Integer(node, "transA", 0) == 0 && IsFloatConstant(edit, node.input(1), 2);
  }
  return node.op_type() == "MatMul" && IsFloatConstant(edit, node.input(1), 2) &&
         edit.ConstantOf(node.input(1))->spec.shape.size() == 2;
}

class ClusterFinder {
 public:
  ClusterFinder(const ModelEdit& edit, const std::map<std::string, Shape>& shapes)
      : edit_(edit), shapes_(shapes), within_(static_cast<std::size_t>(edit.nodes())) {}

  std::vector<Cluster> Find() && {
    for (int n = 0; n < edit_.nodes(); ++n) {
      const onnx::NodeProto& node = edit_.node(n);
      if (within_[static_cast<std::size_t>(n)] || node.output_size() != 1 || node.input_size() < 1) continue;
      Cluster cluster;
      cluster.node = n;
      if (Fits(node, cluster)) {
        const bool activates = cluster.has_weights || node.op_type() == "Add";
        cluster.end = activates ? EndOf(node) : node.output(0);
        for (const std::string& operand : cluster.operands) quantised_.insert(operand);
        quantised_.insert(cluster.end);
        clusters_.push_back(std::move(cluster));
      }
    }
    return std::move(clusters_);
  }

 private:
  bool HasShape(const std::string& value, std::size_t least, std::size_t most) const {
    const auto shape = shapes_.find(value);
    return shapes_.empty() ||
           (shape != shapes_.end() && shape->second.size() >= least && shape->second.size() <= most);
  }

  // Fills in operands and flags.
  bool Fits(const onnx::NodeProto& node, Cluster& cluster) const {
    if (!HasShape(node.output(0), 2, 4)) return false;
    if (HasWeights(edit_, node)) {
      cluster.has_weights = true;
      cluster.operands = {node.input(0)};
      return HasShape(node.input(0), 2, node.op_type() == "Conv" ? 4 : 2);
    }
    cluster.operands.assign(node.input().begin(), node.input().begin() + (node.op_type() == "Add" ? 2 : 1));
    if (!std::ranges::all_of(cluster.operands, [&](const std::string& operand) {
          return edit_.ConstantOf(operand) == nullptr && HasShape(operand, 2, 4);
        })) {
      return false;
    }
    if (node.op_type() == "Add") {
      const bool one_is = quantised_.contains(node.input(0)) || quantised_.contains(node.input(1));
      return one_is && (shapes_.empty() || shapes_.at(node.input(0)) == shapes_.at(node.input(1)));
    }
    cluster.keeps_grid = IsOneOf(node.op_type(), kKeepGrid);
    return (cluster.keeps_grid || IsOneOf(node.op_type(), kChangeGrid)) && quantised_.contains(node.input(0));
  }

  // Takes in a constant that is added to a product, then Relu and Clip, if nobody else reads what is between.
  std::string EndOf(const onnx::NodeProto& first) {
    std::string end = first.output(0);
    bool takes_bias = first.op_type() == "MatMul";
    while (edit_.HasOneReader(end)) {
      const int reader = edit_.ReadersOf(end)[0];
      const onnx::NodeProto& node = edit_.node(reader);
      const bool bias =
          takes_bias && node.op_type() == "Add" &&
          (edit_.ConstantOf(node.input(0)) != nullptr || edit_.ConstantOf(node.input(1)) != nullptr);
      // A value may also be a bound of Clip.
      const bool activation = (node.op_type() == "Relu" || node.op_type() == "Clip") && node.input(0) == end;
      if (!bias && !activation) break;
      takes_bias = false;
      within_[static_cast<std::size_t>(reader)] = true;
      end = node.output(0);
    }
    return end;
  }

  const ModelEdit& edit_;
  const std::map<std::string, Shape>& shapes_;
  std::vector<bool> within_;  // nodes that a cluster took in
  std::set<std::string> quantised_;
  std::vector<Cluster> clusters_;
};

}  // namespace

std::vector<Cluster> FindClusters(const ModelEdit& edit, const std::map<std::string, Shape>& shapes) {
  return ClusterFinder(edit, shapes).Find();
}

std::int64_t ChannelAxis(const onnx::NodeProto& node) {
  if (node.op_type() == "Conv") return 0;
  return node.op_type() == "Gemm" && ModelEdit::Integer(node, "transB", 0) != 0 ? 0 : 1;
}

}  // namespace tributary::graph
