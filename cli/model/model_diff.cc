#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "cli/commands.h"
#include "cli/model/model_source.h"
#include "cli/table.h"
#include "core/parameters/flat_model.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr const char* kModelDiffExamples = R"(Examples:
  tributary model diff run:letters@1 run:letters         how far a run has come
  tributary model diff encoder.safetensors run:letters --json

Shows for each tensor the L2 norm of the difference, the same divided by the norm of the first, the largest
difference of an element, and the cosine between the two; - where one is all zero.)";

struct ModelDiffArguments {
  ConnectionArguments connection;
  std::string first, second;
  bool json = false;
};

// norm, relative (to the norm of the first), largest, cosine of one tensor; null where a norm is zero.
nlohmann::ordered_json Compare(const std::string& name, std::span<const float> first,
                               std::span<const float> second) {
  double squares = 0, dot = 0, first_squares = 0, second_squares = 0, largest = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double a = first[i], b = second[i];
    squares += (b - a) * (b - a);
    dot += a * b;
    first_squares += a * a;
    second_squares += b * b;
    largest = std::max(largest, std::abs(b - a));
  }
  const bool comparable = first_squares > 0 && second_squares > 0;
  return {{"name", name},
          {"elements", first.size()},
          {"norm", std::sqrt(squares)},
          {"relative", first_squares > 0 ? nlohmann::json(std::sqrt(squares / first_squares)) : nullptr},
          {"largest", largest},
          {"cosine", comparable ? nlohmann::json(dot / std::sqrt(first_squares * second_squares)) : nullptr}};
}

absl::StatusOr<parameters::FlatModel> Load(const std::string& source, const ConnectionArguments& connection) {
  ASSIGN_OR_RETURN(const ModelFile file, ReadModelSource(source, connection));
  return WithContext(source, parameters::DecodeFlatModel(file.bytes));
}

std::string TensorsText(const nlohmann::ordered_json& tensors) {
  Table table({Left("TENSOR"), Right("ELEMENTS"), Right("NORM"), Right("RELATIVE"), Right("LARGEST"),
               Right("COSINE")});
  for (const auto& each : tensors) {
    const auto number = [&each](const char* key, int digits) {
      return each[key].is_null() ? "-" : fmt::format("{:.{}g}", each[key].get<double>(), digits);
    };
    table.Add(each["name"].get<std::string>(), each["elements"].get<std::size_t>(), number("norm", 4),
              number("relative", 4), number("largest", 4), number("cosine", 6));
  }
  return table.Text();
}

absl::Status Diff(const ModelDiffArguments& arguments) {
  ASSIGN_OR_RETURN(const auto first, Load(arguments.first, arguments.connection));
  ASSIGN_OR_RETURN(const auto second, Load(arguments.second, arguments.connection));
  if (first.layout.schema_sha256 != second.layout.schema_sha256) {
    return absl::InvalidArgumentError("the models differ in the names or shapes of their tensors");
  }
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  std::span<const float> a = first.values, b = second.values;
  for (const parameters::TensorShape& tensor : first.layout.tensors) {
    const std::size_t count = tensor.size();
    tensors.push_back(Compare(tensor.name, a.first(count), b.first(count)));
    a = a.subspan(count);
    b = b.subspan(count);
  }
  tensors.push_back(Compare("all", first.values, second.values));
  std::cout << (arguments.json ? nlohmann::ordered_json{{"tensors", tensors}}.dump() + "\n"
                               : TensorsText(tensors));
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
