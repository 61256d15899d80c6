// A network of somebody's own as a model of a panel: an ONNX graph, and what its outputs mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/session.h"
#include "core/nn/kernel/network_file.h"

namespace tributary::graph {

enum class OutputKind {
  kUnknown,        // neither the configuration nor the file says
  kLogits,         // of classes: log-probabilities are log_softmax(logits / temperature)
  kProbabilities,  // of classes
  kCholesky,       // x, y in m; l11, l21, l22 of the covariance's lower factor, l11 and l22 before a softplus
  kLogDeviation,   // x, y in m; ln of their standard deviations in m
};

// As files and configurations name them, from kLogits on.
inline constexpr std::string_view kOutputKindNames[] = {"logits", "probabilities", "cholesky",
                                                        "log_deviation"};

constexpr bool TellsClasses(OutputKind kind) {
  return kind == OutputKind::kLogits || kind == OutputKind::kProbabilities;
}

// What a configuration says; what it leaves open, the file's metadata may say: "tributary.outputs",
// "tributary.classes" with commas, "tributary.temperature", "tributary.covariance_scale".
struct OutputMeaning {
  OutputKind kind = OutputKind::kUnknown;
  std::string output;  // by name; empty: the only one
  std::vector<std::string> classes = {};
  double temperature = 0;       // 0: the file's, or 1
  double covariance_scale = 0;  // of the Cholesky factor; 0: the file's, or 1

  friend bool operator==(const OutputMeaning&, const OutputMeaning&) = default;
};

struct GraphModel : nn::Provenance {
  std::string file;         // the ONNX file's bytes
  OutputMeaning meaning;    // complete
  std::size_t inputs = 0;   // elements of a subject
  std::size_t outputs = 0;  // of a subject, in the output that the meaning names
  std::size_t output_index = 0;
};

// Dimensions of any size are 1: a subject at a time. Memory of a model's session is limited to this.
inline constexpr std::uint64_t kModelMemoryBytes = std::uint64_t{128} << 20;

// Errors: those of Session::Load; InvalidArgument, as "KEY: what is wrong" with the key of [panel.outputs] if
// it is one's fault: for a graph with several inputs, an input other than float32 or uint8, an output that is
// not there or not float32, a meaning that nobody tells or that does not fit the output, and for classes that
// are not different names.
absl::StatusOr<GraphModel> DecodeGraphModel(std::string file, const OutputMeaning& meaning);

// For a model that was decoded. The accelerator, if there is one, outlives the session. Errors: those of
// Session::Load.
absl::StatusOr<std::unique_ptr<Session>> OpenSession(const GraphModel& model,
                                                     const SectionTarget* accelerator = nullptr);

}  // namespace tributary::graph
