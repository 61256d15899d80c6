#include "aggregator/prepare.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "aggregator/parent_link.h"
#include "aggregator/store/store.h"
#include "core/config/tls.h"
#include "core/nn/encoder/training_limits.h"
#include "core/runtime/address.h"
#include "core/runtime/file.h"
#include "core/status/macros.h"
#include "core/wire/hello_size.h"

namespace tributary::aggregator {
namespace {

void CheckShapes(const config::ConfigFile& file, const learning::EvaluationFiles& files,
                 const learning::EvaluationImages& images) {
  const auto shape = [](const images::ImageSet& set) {
    return fmt::format("images of {} pixels", set.shape().Text());
  };
  if (!nn::kImageSideLimit.Admits(static_cast<double>(images.train.side))) {
    file.Fault("federation.evaluation.images",
               fmt::format("{}: {}, an encoder takes a side of {} to {}", files.images, shape(images.train),
                           nn::kImageSideLimit.least, nn::kImageSideLimit.most));
  } else if (images.test.shape() != images.train.shape()) {
    file.Fault(
        "federation.evaluation.test_images",
        fmt::format("{}: {}, and {} in {}", files.test_images.empty() ? files.images : files.test_images,
                    shape(images.test), shape(images.train), files.images));
  }
}

std::optional<learning::EvaluationImages> PrepareEvaluation(const config::ConfigFile& file,
                                                            const learning::EvaluationFiles& files) {
  if (file.HasFault("federation.evaluation")) return std::nullopt;
  absl::StatusOr<learning::EvaluationImages> images = learning::ReadEvaluationImages(files);
  if (!images.ok()) {
    file.Fault("federation.evaluation",
               {{"federation.evaluation.images", files.images},
                {"federation.evaluation.labels", files.labels},
                {"federation.evaluation.test_images", files.test_images},
                {"federation.evaluation.test_labels", files.test_labels}},
               images.status());
    return std::nullopt;
  }
  CheckShapes(file, files, *images);
  return *std::move(images);
}

bool HasFolder(const std::filesystem::path& file) {
  std::error_code ignored;
  return !file.has_parent_path() || std::filesystem::is_directory(file.parent_path(), ignored);
}

void PrepareTokens(const config::ConfigFile& file, const std::string& path, PreparedAggregator& prepared) {
  absl::StatusOr<config::TokenSet> read = config::TokenSet::Read(path);
  std::error_code ignored;
  if (!HasFolder(path)) {
    // The file may come later, but not by `tributary token`.
    file.Fault("access.tokens", path + ": its folder is missing");
  } else if (!read.ok()) {
    file.Fault("access.tokens", std::string(read.status().message()));
  } else {
    prepared.tokens = *std::move(read);
    if (!std::filesystem::exists(path, ignored)) {
      prepared.remarks.push_back(
          fmt::format("access.tokens: {} does not exist, so no token is in force until `tributary token "
                      "create` or `invite` makes it",
                      path));
    }
  }
}

void PrepareAccessFiles(const config::ConfigFile& file, const AccessFiles& files,
                        PreparedAggregator& prepared) {
  if (!files.tokens.empty()) PrepareTokens(file, files.tokens, prepared);
  if (files.audit_log.empty()) return;
  if (const absl::Status status = runtime::CheckFolderOf(files.audit_log); !status.ok()) {
    file.Fault("access.audit_log", std::string(status.message()));
  }
}

void CheckCalibrationFiles(const config::ConfigFile& file, const std::vector<SiteSettings>& sites) {
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (sites[i].calibration_file.empty()) continue;
    if (const absl::Status status = runtime::CheckFolderOf(sites[i].calibration_file); !status.ok()) {
      file.Fault(fmt::format("site[{}].calibration.state", i), std::string(status.message()));
    }
  }
}

void PrepareSites(const config::ConfigFile& file, PreparedAggregator& prepared) {
  const AggregatorConfig& config = prepared.config;
  for (std::size_t i = 0; i < config.sites.size(); ++i) {
    const fusion::SiteConfig& site = config.sites[i].fusion;
    if (file.HasFault(fmt::format("site[{}]", i))) continue;
    const std::int64_t window_ns = static_cast<std::int64_t>(site.window_slots) * site.slot.ns();
    if (site.tuning.deadline_ns < site.slot.ns()) {
      prepared.remarks.push_back(fmt::format(
          "{}: deadline_ms is shorter than a slot of {}: sensors that share no phase are fused apart",
          site.name, site.slot.Text()));
    } else if (site.tuning.deadline_ns > window_ns) {
      prepared.remarks.push_back(
          fmt::format("{}: slots are fused after {} ms and not after deadline_ms, since no more than {} are "
                      "under way at once: raise max_age_s, or window_slots",
                      site.name, window_ns / 1'000'000, site.window_slots));
    }
    if (!config.parent) continue;
    const absl::Status status = wire::CheckHelloSize(ParentLink::HelloOf(*config.parent, site));
    if (!status.ok()) file.Fault(fmt::format("site[{}]", i), std::string(status.message()));
  }
}

}  // namespace

absl::StatusOr<PreparedAggregator> PrepareAggregator(const config::ConfigFile& file) {
  PreparedAggregator prepared;
  prepared.config = ReadAggregatorConfig(file);
  const AggregatorConfig& config = prepared.config;
  absl::Status damage;
  if (config.tls) {
    std::string_view reports_as, learns_as;
    if (config.parent) reports_as = config.parent->node;
    if (config.federation && config.federation->parent) learns_as = config.federation->parent->node;
    prepared.tls = config::PrepareTls(file, *config.tls, TlsUsesOf(config),
                                      {{"parent.node", reports_as}, {"federation.parent.node", learns_as}});
  }
  if (const std::string socket = runtime::UnixPathOf(config.listen);
      !HasFolder(socket) && !file.HasFault("listen"))
    file.Fault("listen", socket + ": its folder is missing");
  PrepareAccessFiles(file, config.access_files, prepared);
  CheckCalibrationFiles(file, config.sites);
  PrepareSites(file, prepared);
  if (prepared.tls && !config.access_files.authority.empty() && !file.HasFault("access.authority")) {
    absl::StatusOr<join::Authority> authority =
        join::ReadAuthority(config.access_files.authority, prepared.tls->material.ca_pem);
    if (authority.ok()) {
      prepared.authority = *std::move(authority);
    } else {
      file.Fault("access.authority", std::string(authority.status().message()));
    }
  }
  if (config.federation && !config.federation->store.empty()) {
    const absl::Status status = store::Store::Check(config.federation->store);
    // A store that is damaged, or cannot be read now, is no fault of the configuration.
    if (absl::IsDataLoss(status) || absl::IsUnavailable(status)) {
      damage = status;
    } else if (!status.ok()) {
      file.Fault("federation.store", std::string(status.message()));
    }
  }
  if (config.federation && config.federation->evaluation) {
    prepared.evaluation = PrepareEvaluation(file, *config.federation->evaluation);
  }
  RETURN_IF_ERROR(file.Finish());
  RETURN_IF_ERROR(damage);
  return prepared;
}

}  // namespace tributary::aggregator
