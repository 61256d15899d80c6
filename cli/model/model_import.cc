#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/graph_arguments.h"
#include "core/graph/graph_model.h"
#include "core/graph/model_meaning.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kModelImportExamples = R"(Examples:
  tributary model import encoder.onnx --kind logits --classes north,south,east,west          would a panel take it?
  tributary model import encoder.onnx --kind logits --classes north,south,east,west --temperature 1.7 --out panel.onnx

Checks an ONNX file as a panel with workload = "network" does, and writes it with the meaning of its output. A panel then
needs no [panel.outputs]. Options come before what the file says of itself. --output keeps one of several outputs and
removes what only the others need. Weights and all else stay as they are. See docs/graphs.md.)";

struct ModelImportArguments {
  std::string file, out, output, classes;
  graph::OutputKind kind = graph::OutputKind::kUnknown;
  double temperature = 0, covariance_scale = 0;
  bool json = false;
};

graph::OutputMeaning MeaningOf(const ModelImportArguments& arguments) {
  graph::OutputMeaning meaning{.kind = arguments.kind,
                               .output = arguments.output,
                               .temperature = arguments.temperature,
                               .covariance_scale = arguments.covariance_scale};
  if (!arguments.classes.empty()) meaning.classes = absl::StrSplit(arguments.classes, ',');
  return meaning;
}

absl::StatusOr<ordered_json> ImportedOf(const ModelImportArguments& arguments,
                                        const graph::GraphModel& model) {
  ASSIGN_OR_RETURN(const auto session, graph::OpenSession(model));
  const graph::PortReport input = session->inputs()[0], output = session->outputs()[model.output_index];
  const graph::OutputMeaning& meaning = model.meaning;
  ordered_json said = {
      {"file", arguments.file},
      {"input",
       {{"name", input.name}, {"dtype", graph::NameOf(input.spec.type)}, {"shape", input.spec.shape}}},
      {"output",
       {{"name", output.name}, {"dtype", graph::NameOf(output.spec.type)}, {"shape", output.spec.shape}}},
      {"kind", graph::kOutputKindNames[static_cast<std::size_t>(meaning.kind) - 1]}};
  if (graph::TellsClasses(meaning.kind)) {
    said["classes"] = meaning.classes;
    said["temperature"] = meaning.temperature;
  } else {
    said["covariance_scale"] = meaning.covariance_scale;
  }
  said["memory_bytes"] = session->memory_bytes();
  return said;
}

void PrintImported(const ordered_json& said) {
  for (const char* side : {"input", "output"}) {
    std::cout << absl::StrFormat("%-8s %s %s %s\n", side,
                                 wire::PeerText(said[side]["name"].get<std::string>()),
                                 said[side]["dtype"].get<std::string>(), said[side]["shape"].dump());
  }
  std::cout << absl::StrFormat("%-8s %s\n", "kind", said["kind"].get<std::string>());
  if (said.contains("classes")) {
    std::cout << absl::StrFormat(
        "%-8s %s; temperature %g\n", "classes",
        wire::PeerText(absl::StrJoin(said["classes"].get<std::vector<std::string>>(), ", ")),
        said["temperature"].get<double>());
  } else {
    std::cout << absl::StrFormat("%-8s %g\n", "covariance scale", said["covariance_scale"].get<double>());
  }
  std::cout << absl::StrFormat("%-8s %.1f MiB\n", "memory", said["memory_bytes"].get<double>() / (1 << 20));
  if (said.contains("written")) {
    std::cout << runtime::Printable(said["written"].get<std::string>()) << ": "
              << said["bytes"].get<std::size_t>() << " bytes\n";
  } else {
    std::cout << "a panel takes it; --out FILE writes it with this meaning\n";
  }
}

absl::Status ImportModel(const ModelImportArguments& arguments) {
  if (!arguments.out.empty()) RETURN_IF_ERROR(CheckOutput(arguments.out, {arguments.file}));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(arguments.file, kMostGraphFileBytes));
  ASSIGN_OR_RETURN(graph::GraphModel model,
                   WithContext(arguments.file, graph::DecodeGraphModel(file, MeaningOf(arguments))));
  std::string imported;
  if (!arguments.out.empty()) {
    ASSIGN_OR_RETURN(imported, WithContext(arguments.file, graph::WithMeaning(file, model.meaning)));
    // As a panel will read it: nothing but the file says what comes out.
    ASSIGN_OR_RETURN(model, WithContext(arguments.out, graph::DecodeGraphModel(imported, {})));
  }
  ASSIGN_OR_RETURN(ordered_json said, ImportedOf(arguments, model));
  if (!arguments.out.empty()) {
    RETURN_IF_ERROR(WriteOutput(arguments.out, imported));
    said["written"] = arguments.out;
    said["bytes"] = imported.size();
  }
  if (arguments.json) {
    std::cout << wire::DumpJson(said) << "\n";
  } else {
    PrintImported(said);
  }
  return absl::OkStatus();
}

}  // namespace

void AddModelImportCommand(Commands& model) {
  auto [command, arguments] = model.Add<ModelImportArguments>(
      "import", "Check an ONNX file for a panel, and write what its output means into it", ImportModel);
  command.Text("file", arguments.file, "FILE", "ONNX file, operator sets 13 to 17")->required();
  command.Choice("--kind", arguments.kind,
                 {{"logits", graph::OutputKind::kLogits},
                  {"probabilities", graph::OutputKind::kProbabilities},
                  {"cholesky", graph::OutputKind::kCholesky},
                  {"log_deviation", graph::OutputKind::kLogDeviation}},
                 "What the output is; default: what the file says");
  command.Text("--classes", arguments.classes, "NAMES",
               "Names of the classes, with commas; default: those of the file");
  command.Text("--output", arguments.output, "NAME", "The output that counts, if there are several");
  command.Number("--temperature", arguments.temperature, "T", "Divides logits (0 = the file's, or 1)",
                 {0, 1'000});
  command.Number("--covariance-scale", arguments.covariance_scale, "S",
                 "Multiplies the Cholesky factor of positions (0 = the file's, or 1)", {0, 1'000});
  command.Text("--out", arguments.out, "FILE", "ONNX file to write; without it the file is only checked");
  command.Json(arguments.json);
  command.Examples(kModelImportExamples);
}

}  // namespace tributary::cli
