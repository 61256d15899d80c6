#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/model/model_source.h"
#include "cli/table.h"
#include "core/parameters/flat_model.h"

namespace tributary::cli {
namespace {

constexpr const char* kModelDiffExamples = R"(Examples:
  tributary model diff run:letters@1 run:letters         how far a run has come
  tributary model diff encoder.safetensors run:letters --json

Of each tensor: L2 norm of the difference, the same divided by the norm of the first, the largest difference of an
element, and the cosine between the two.)";

struct ModelDiffArguments {
  ConnectionArguments connection;
  std::string first, second;
  bool json = false;
};

struct Difference {
  std::string name;
  std::size_t elements = 0;
  double norm = 0;
  double relative = 0;  // 0 if the first is all zero
  double largest = 0;
  double cosine = 0;
};

Difference Compare(std::string name, std::span<const float> first, std::span<const float> second) {
  Difference result{std::move(name), first.size(), 0, 0, 0, 0};
  double squares = 0, dot = 0, first_squares = 0, second_squares = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double a = first[i], b = second[i];
    squares += (b - a) * (b - a);
    dot += a * b;
    first_squares += a * a;
    second_squares += b * b;
    result.largest = std::max(result.largest, std::abs(b - a));
  }
  result.norm = std::sqrt(squares);
  if (first_squares > 0) result.relative = std::sqrt(squares / first_squares);
  if (first_squares > 0 && second_squares > 0)
    result.cosine = dot / std::sqrt(first_squares * second_squares);
  return result;
}

absl::StatusOr<parameters::FlatModel> Load(const std::string& source, const ConnectionArguments& connection) {
  const auto file = ReadModelSource(source, connection);
  if (!file.ok()) return file.status();
  auto model = parameters::DecodeFlatModel(*file);
  if (model.ok()) return model;
  return absl::Status(model.status().code(), absl::StrCat(source, ": ", model.status().message()));
}

void Print(const std::vector<Difference>& differences, bool json) {
  if (json) {
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    for (const Difference& each : differences) {
      tensors.push_back({{"name", each.name},
                         {"elements", each.elements},
                         {"norm", each.norm},
                         {"relative", each.relative},
                         {"largest", each.largest},
                         {"cosine", each.cosine}});
    }
    std::printf("%s\n", nlohmann::ordered_json{{"tensors", std::move(tensors)}}.dump().c_str());
    return;
  }
  Table table({Left("TENSOR"), Right("ELEMENTS"), Right("NORM"), Right("RELATIVE"), Right("LARGEST"),
               Right("COSINE")});
  for (const Difference& each : differences) {
    table.Add(each.name, each.elements, fmt::format("{:.4g}", each.norm),
              fmt::format("{:.4f}", each.relative), fmt::format("{:.4g}", each.largest),
              fmt::format("{:.6f}", each.cosine));
  }
  std::fputs(table.Text().c_str(), stdout);
}

absl::Status Diff(const ModelDiffArguments& arguments) {
  const auto first = Load(arguments.first, arguments.connection);
  if (!first.ok()) return first.status();
  const auto second = Load(arguments.second, arguments.connection);
  if (!second.ok()) return second.status();
  if (first->layout.schema_sha256 != second->layout.schema_sha256) {
    return absl::InvalidArgumentError("the models differ in the names or shapes of their tensors");
  }
  std::vector<Difference> differences;
  std::span<const float> a = first->values, b = second->values;
  for (const parameters::TensorShape& tensor : first->layout.tensors) {
    const std::size_t count = tensor.size();
    differences.push_back(Compare(tensor.name, a.first(count), b.first(count)));
    a = a.subspan(count);
    b = b.subspan(count);
  }
  differences.push_back(Compare("all", first->values, second->values));
  Print(differences, arguments.json);
  return absl::OkStatus();
}

}  // namespace

void AddModelDiffCommand(Commands& model) {
  auto [command, arguments] =
      model.Add<ModelDiffArguments>("diff", "Compare the parameters of two models", Diff);
  command.Connection(arguments.connection);
  command.Text("first", arguments.first, kModelSourceType, kModelSourceHelp)->required();
  command.Text("second", arguments.second, kModelSourceType, kModelSourceHelp)->required();
  command.Json(arguments.json, "Print JSON instead of the table");
  command.Examples(kModelDiffExamples);
}

}  // namespace tributary::cli
