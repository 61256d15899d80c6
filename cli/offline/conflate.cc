#include "cli/offline/conflate.h"

#include <sysexits.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/offline/estimate_line.h"
#include "core/estimate/categorical.h"
#include "core/estimate/conflation.h"
#include "core/estimate/covariance_intersection.h"
#include "core/estimate/gaussian.h"
#include "core/estimate/log_linear_pool.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::cli {
namespace {

constexpr std::string_view kErrorPrefix = "tributary conflate: ";  // as every command has it
using Method = ConflateOptions::Method;

// The estimates of one subject in one slot, at least one.
using Group = std::vector<EstimateLine>;

absl::Status CheckFits(const EstimateLine& line, const EstimateLine& first) {
  const auto lengths = [](const char* field, const auto& found, const auto& expected) -> absl::Status {
    if (found.size() == expected.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("field '", field, "' has ", found.size(),
                                                   " elements, must have ", expected.size(),
                                                   " as the others of its subject"));
  };
  RETURN_IF_ERROR(lengths("mean", line.mean, first.mean));
  RETURN_IF_ERROR(lengths("log_probabilities", line.log_probabilities, first.log_probabilities));
  if (line.classes == first.classes) return absl::OkStatus();
  return absl::InvalidArgumentError("field 'classes' must be equal for all sources of a subject");
}

absl::Status AddTo(Group& group, EstimateLine line) {
  if (std::ranges::count(group, line.source, &EstimateLine::source) > 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("field 'source': '", line.source, "' has been given for this site, epoch and subject"));
  }
  if (!group.empty()) RETURN_IF_ERROR(CheckFits(line, group[0]));
  group.push_back(std::move(line));
  return absl::OkStatus();
}

template <int D>
estimate::Gaussian<D> ToGaussian(const EstimateLine& line) {
  estimate::Gaussian<D> gaussian;
  gaussian.cholesky.setZero();
  auto element = line.scale_tril.begin();
  for (int row = 0; row < D; ++row) {
    gaussian.mean[row] = line.mean[static_cast<std::size_t>(row)];
    for (int column = 0; column <= row; ++column) gaussian.cholesky(row, column) = *element++;
  }
  return gaussian;
}

// What every result begins with.
nlohmann::ordered_json KeyOf(const Group& group) {
  const EstimateLine& first = group[0];
  return {{"site", first.site}, {"epoch", std::to_string(first.epoch)}, {"subject", first.subject}};
}

std::vector<std::string> ContributorsOf(const Group& group) {
  std::vector<std::string> contributors;
  for (const EstimateLine& line : group) contributors.push_back(line.source);
  std::ranges::sort(contributors);
  return contributors;
}

template <int D>
absl::StatusOr<nlohmann::ordered_json> Fuse(const Group& group, Method method) {
  std::vector<estimate::Gaussian<D>> inputs;
  for (const EstimateLine& line : group) inputs.push_back(ToGaussian<D>(line));
  ASSIGN_OR_RETURN(const estimate::Gaussian<D> fused, method == Method::kProduct
                                                          ? estimate::Conflate<D>(inputs)
                                                          : estimate::Intersect<D>(inputs));
  const estimate::Matrix<D> covariance = fused.Covariance();
  if (!fused.mean.allFinite() || !covariance.allFinite()) {
    return absl::OutOfRangeError("the result is beyond the range of double");
  }
  std::vector<std::vector<double>> rows;
  std::vector<double> triangle;
  for (int row = 0; row < D; ++row) {
    rows.emplace_back(covariance.row(row).begin(), covariance.row(row).end());
    for (int column = 0; column <= row; ++column) triangle.push_back(fused.cholesky(row, column));
  }
  nlohmann::ordered_json result = KeyOf(group);
  result["mean"] = std::vector<double>(fused.mean.begin(), fused.mean.end());
  result["scale_tril"] = triangle;
  result["covariance"] = rows;
  result["contributors"] = ContributorsOf(group);
  return result;
}

// `prior`: of the classes, in every input and in the result; empty: uniform.
absl::StatusOr<nlohmann::ordered_json> FuseClasses(const Group& group, const ConflateOptions& options) {
  const std::size_t classes = group[0].log_probabilities.size();
  if (!options.prior.empty()) {
    const std::string fault = estimate::PriorFault<double>(options.prior, classes);
    if (!fault.empty()) return absl::InvalidArgumentError(absl::StrCat("--prior ", fault));
  }
  const std::vector<double> log_prior = estimate::LogPrior(options.prior, classes);
  std::vector<std::vector<double>> evidence;
  std::vector<double> weights;
  for (const EstimateLine& line : group) {
    estimate::ToEvidence<double>(line.log_probabilities, log_prior, 1, evidence.emplace_back(classes));
    weights.push_back(estimate::InformationOf<double>(evidence.back(), log_prior));
  }
  estimate::WeighByInformation(weights);
  std::vector<double> fused = log_prior;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    estimate::AddEvidence<double>(evidence[i], options.method == Method::kProduct ? 1 : weights[i], fused);
  }
  estimate::Normalise(fused);

  nlohmann::ordered_json result = KeyOf(group);
  result["log_probabilities"] = fused;
  for (double& each : fused) each = std::exp(each);
  result["probabilities"] = fused;
  if (!group[0].classes.empty()) result["classes"] = group[0].classes;
  result["contributors"] = ContributorsOf(group);
  return result;
}

absl::StatusOr<nlohmann::ordered_json> FuseGroup(const Group& group, const ConflateOptions& options) {
  if (group[0].categorical()) return FuseClasses(group, options);
  const Method method = options.method;
  switch (group[0].mean.size()) {
    case 1:
      return Fuse<1>(group, method);
    case 2:
      return Fuse<2>(group, method);
    default:
      return Fuse<3>(group, method);
  }
}

}  // namespace

std::string ReadPrior(const std::string& text, std::vector<double>& prior) {
  prior.clear();
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    double probability = 0;
    const std::string fault = ReadNumber(std::string(part), {estimate::kLeastPrior, 1.0}, probability);
    if (!fault.empty()) return fault;
    prior.push_back(probability);
  }
  return "";
}

int RunConflate(std::istream& in, std::ostream& out, std::ostream& error, const ConflateOptions& options) {
  int exit_code = EX_OK;
  std::vector<Group> groups;  // in the order of their first appearance
  std::map<std::tuple<std::string, std::uint64_t, std::uint32_t>, std::size_t> index;
  const auto add = [&](EstimateLine line) {
    const auto [found, added] = index.try_emplace({line.site, line.epoch, line.subject}, groups.size());
    if (added) groups.emplace_back();
    return AddTo(groups[found->second], std::move(line));
  };
  std::string text;
  for (std::uint64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    absl::StatusOr<EstimateLine> line = ParseEstimateLine(text);
    const absl::Status status = line.ok() ? add(*std::move(line)) : line.status();
    if (status.ok()) continue;
    error << kErrorPrefix << "line " << number << ": " << runtime::Printable(std::string(status.message()))
          << '\n';
    exit_code = EX_DATAERR;
  }
  for (const Group& group : groups) {
    const absl::StatusOr<nlohmann::ordered_json> fused = FuseGroup(group, options);
    if (fused.ok()) {
      out << wire::DumpJson(*fused) << '\n';
      continue;
    }
    const EstimateLine& first = group[0];
    error << kErrorPrefix << "site '" << runtime::Printable(first.site) << "', epoch " << first.epoch
          << ", subject " << first.subject << ": "
          << runtime::Printable(std::string(fused.status().message())) << '\n';
    exit_code = EX_DATAERR;
  }
  return exit_code;
}

void AddConflateCommand(Commands& program) {
  auto [command, options] = program.Add<ConflateOptions>(
      "conflate", "Fuse positions or class probabilities: reads and prints lines of JSON",
      [](const ConflateOptions& given) {
        return AlreadyReported(RunConflate(std::cin, std::cout, std::cerr, given));
      });
  command.Choice(
      "--method", options.method, {{"intersection", Method::kIntersection}, {"product", Method::kProduct}},
      "How to fuse: product for independent sources, intersection if their correlation is unknown");
  command
      .Value("--prior", "P,P,...", "Prior probabilities of the classes, which the inputs contain", "",
             [&options = options](const std::string& text) { return ReadPrior(text, options.prior); })
      ->expected(1, static_cast<int>(estimate::kMostClasses));
  command.Examples(
      "Example:\n"
      "  tributary conflate < estimates.jsonl > fused.jsonl\n\n"
      "A line in: {\"site\": \"lab\", \"epoch\": 1, \"subject\": 0, \"source\": \"south\", \"mean\": [x, y], "
      "\"scale_tril\": [l11, l21, l22]}\nor instead of mean and scale_tril: \"log_probabilities\": [...], "
      "\"classes\": [names, optional]\nOne line out per subject: mean, scale_tril, covariance, contributors; "
      "or "
      "log_probabilities, probabilities, classes, contributors. docs/api.md has the keys.");
}

}  // namespace tributary::cli
