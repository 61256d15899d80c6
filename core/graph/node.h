// A node of a graph, and the graph as it was read: names are resolved, nothing is planned yet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/array.h"

namespace tributary::graph {

using Attribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, Array>;

// By name. A reader gives what stands if the attribute is missing. Errors: InvalidArgument for an attribute
// of another type.
class Attributes {
 public:
  void Set(std::string name, Attribute value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  bool Has(std::string_view name) const { return values_.contains(name); }

  absl::StatusOr<std::int64_t> Integer(std::string_view name, std::int64_t otherwise) const {
    return Get<std::int64_t>(name, otherwise);
  }
  absl::StatusOr<float> Real(std::string_view name, float otherwise) const {
    return Get<float>(name, otherwise);
  }
  absl::StatusOr<std::string> Text(std::string_view name, std::string otherwise) const {
    return Get<std::string>(name, std::move(otherwise));
  }
  absl::StatusOr<std::vector<std::int64_t>> Integers(std::string_view name,
                                                     std::vector<std::int64_t> otherwise) const {
    return Get<std::vector<std::int64_t>>(name, std::move(otherwise));
  }
  const std::map<std::string, Attribute, std::less<>>& all() const { return values_; }

 private:
  template <class T>
  absl::StatusOr<T> Get(std::string_view name, T otherwise) const {
    const auto entry = values_.find(name);
    if (entry == values_.end()) return otherwise;
    if (const T* const value = std::get_if<T>(&entry->second)) return *value;
    return absl::InvalidArgumentError("the attribute " + std::string(name) + " has another type");
  }

  std::map<std::string, Attribute, std::less<>> values_;
};

inline constexpr int kAbsent = -1;  // an optional input that is left out

struct Node {
  std::string name;  // its own, or that of its first output
  std::string operation;
  std::vector<int> inputs, outputs;  // places in Graph::values
  Attributes attributes;
};

struct Value {
  std::string name;
  std::vector<Array> constant;  // one if the value is known, else none
};

struct GraphInput {
  int value = 0;
  Spec spec;
};

// Each node's inputs are graph inputs, constants or results of nodes before it; each value has one source.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<GraphInput> inputs;
  std::vector<int> outputs;
  std::map<std::string, std::string, std::less<>> metadata;  // the file's; texts of a stranger
};

}  // namespace tributary::graph
