// An opened ONNX graph and its inputs, for the commands that compute it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "core/graph/session.h"
#include "node/accelerator/float_layers.h"

namespace tributary::cli {

enum class GraphAccelerator { kCpu, kTensorModel, kXrt };

struct GraphSessionArguments {
  std::string file, xclbin;
  std::vector<std::string> inputs, dimensions;
  std::uint64_t memory_mib = 256;
  graph::Arithmetic arithmetic = graph::Arithmetic::kIntegers;
  GraphAccelerator accelerator = GraphAccelerator::kCpu;
  std::uint32_t lanes = 16;
  accelerator::FloatLayers float_layers = accelerator::FloatLayers::kProcessor;
  unsigned device = 0;
  bool strict = false;
};

// All but `strict`. The argument for the file is given back.
CLI::Option* DeclareGraphSession(Command& command, GraphSessionArguments& arguments);

struct GraphSession {
  std::unique_ptr<graph::SectionTarget> accelerator;  // null: the processor computes all of it
  std::unique_ptr<graph::Session> session;
};

// Errors: a UsageError for options that do not go together; those of the file, the graph and the board.
absl::StatusOr<GraphSession> OpenGraphSession(const GraphSessionArguments& arguments);

// What an input becomes that no --input names.
using MissingInput = std::function<absl::StatusOr<graph::Array>(const graph::PortReport&)>;

// In the order of the graph's inputs. Errors: a UsageError for an --input that the graph does not have or
// that is given twice; those of the files and of `missing`.
absl::StatusOr<std::vector<graph::Array>> ReadGraphInputs(const std::vector<std::string>& inputs,
                                                          const graph::Session& session,
                                                          const MissingInput& missing);

// 0 of nothing.
template <class Number>
double ShareOf(Number part, Number all) {
  return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
}

// What of the graph runs on the accelerator, and in how many cycles.
nlohmann::ordered_json AcceleratorShares(const graph::SectionTarget& accelerator,
                                         const graph::Session& session);
// The same as lines for people.
std::string AcceleratorText(const nlohmann::ordered_json& shares);

}  // namespace tributary::cli
