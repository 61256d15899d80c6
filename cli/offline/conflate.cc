#include "cli/offline/conflate.h"

#include <sysexits.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/watch/estimate_line.h"
#include "core/estimate/conflation.h"
#include "core/estimate/covariance_intersection.h"
#include "core/estimate/gaussian.h"
#include "core/wire/dump_json.h"

namespace tributary::cli {
namespace {

using Method = ConflateOptions::Method;

// The estimates of one subject in one slot.
struct Group {
  std::vector<EstimateLine> lines;

  std::size_t dimension() const { return lines[0].mean.size(); }
};

absl::Status AddTo(Group& group, EstimateLine line) {
  for (const EstimateLine& present : group.lines) {
    if (present.source == line.source) {
      return absl::AlreadyExistsError(absl::StrCat("field 'source': '", line.source,
                                                   "' has been given for this site, epoch and subject"));
    }
  }
  if (!group.lines.empty() && line.mean.size() != group.dimension()) {
    return absl::InvalidArgumentError(absl::StrCat("field 'mean' has ", line.mean.size(),
                                                   " elements, must have ", group.dimension(),
                                                   " as the others of its subject"));
  }
  group.lines.push_back(std::move(line));
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

template <int D>
std::vector<double> LowerTriangle(const estimate::Matrix<D>& factor) {
  std::vector<double> elements;
  for (int row = 0; row < D; ++row) {
    for (int column = 0; column <= row; ++column) elements.push_back(factor(row, column));
  }
  return elements;
}

template <int D>
absl::StatusOr<nlohmann::ordered_json> Fuse(const Group& group, Method method) {
  std::vector<estimate::Gaussian<D>> inputs;
  for (const EstimateLine& line : group.lines) inputs.push_back(ToGaussian<D>(line));
  const absl::StatusOr<estimate::Gaussian<D>> fused =
      method == Method::kProduct ? estimate::Conflate<D>(inputs) : estimate::Intersect<D>(inputs);
  if (!fused.ok()) return fused.status();
  const estimate::Matrix<D> covariance = fused->Covariance();
  if (!fused->mean.allFinite() || !covariance.allFinite()) {
    return absl::OutOfRangeError("the result is beyond the range of double");
  }
  std::vector<std::vector<double>> rows;
  for (int row = 0; row < D; ++row) {
    rows.emplace_back();
    for (int column = 0; column < D; ++column) rows.back().push_back(covariance(row, column));
  }
  std::vector<std::string> contributors;
  for (const EstimateLine& line : group.lines) contributors.push_back(line.source);
  std::sort(contributors.begin(), contributors.end());

  const EstimateLine& first = group.lines[0];
  nlohmann::ordered_json result;
  result["site"] = first.site;
  result["epoch"] = std::to_string(first.epoch);
  result["subject"] = first.subject;
  result["mean"] = std::vector<double>(fused->mean.begin(), fused->mean.end());
  result["scale_tril"] = LowerTriangle<D>(fused->cholesky);
  result["covariance"] = rows;
  result["contributors"] = contributors;
  return result;
}

absl::StatusOr<nlohmann::ordered_json> FuseGroup(const Group& group, Method method) {
  switch (group.dimension()) {
    case 1:
      return Fuse<1>(group, method);
    case 2:
      return Fuse<2>(group, method);
    default:
      return Fuse<3>(group, method);
  }
}

// In the order of their first appearance.
class Groups {
 public:
  absl::Status Add(EstimateLine line) {
    const auto [found, added] =
        index_.try_emplace(std::make_tuple(line.site, line.epoch, line.subject), groups_.size());
    if (added) groups_.emplace_back();
    return AddTo(groups_[found->second], std::move(line));
  }
  const std::vector<Group>& all() const { return groups_; }

 private:
  std::map<std::tuple<std::string, std::uint64_t, std::uint32_t>, std::size_t> index_;
  std::vector<Group> groups_;
};

}  // namespace

int RunConflate(std::istream& in, std::ostream& out, std::ostream& error, const ConflateOptions& options) {
  int exit_code = EX_OK;
  Groups groups;
  std::string text;
  for (std::uint64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    absl::StatusOr<EstimateLine> line = ParseEstimateLine(text);
    const absl::Status status = line.ok() ? groups.Add(*std::move(line)) : line.status();
    if (status.ok()) continue;
    error << "line " << number << ": " << status.message() << '\n';
    exit_code = EX_DATAERR;
  }
  for (const Group& group : groups.all()) {
    const absl::StatusOr<nlohmann::ordered_json> fused = FuseGroup(group, options.method);
    if (fused.ok()) {
      out << wire::DumpJson(*fused) << '\n';
      continue;
    }
    const EstimateLine& first = group.lines[0];
    error << "site '" << first.site << "', epoch " << first.epoch << ", subject " << first.subject << ": "
          << fused.status().message() << '\n';
    exit_code = EX_DATAERR;
  }
  return exit_code;
}

void AddConflateCommand(Commands& program) {
  auto [command, options] = program.Add<ConflateOptions>(
      "conflate", "Fuse Gaussian estimates: reads and prints lines of JSON",
      [](const ConflateOptions& given) {
        return AlreadyReported(RunConflate(std::cin, std::cout, std::cerr, given));
      });
  command.Choice(
      "--method", options.method, {{"intersection", Method::kIntersection}, {"product", Method::kProduct}},
      "How to fuse: product for independent sources, intersection if their correlation is unknown");
  command.Examples(
      "Example:\n"
      "  tributary conflate < estimates.jsonl > fused.jsonl\n\n"
      "A line in: {\"site\": \"lab\", \"epoch\": 1, \"subject\": 0, \"source\": \"south\", \"mean\": [x, y], "
      "\"scale_tril\": [l11, l21, l22]}\nOne line out per subject: mean, scale_tril, covariance, "
      "contributors. docs/api.md has the "
      "keys.");
}

}  // namespace tributary::cli
