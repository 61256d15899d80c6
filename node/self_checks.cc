#include "node/self_checks.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/runtime/log.h"
#include "node/checks/machine_checks.h"

namespace tributary::node {
namespace {

constexpr std::int64_t kIntervalNs = 60'000'000'000;

v1::CheckFinding FindingMessage(checks::Finding finding) {
  switch (finding) {
    case checks::Finding::kOk:
      return v1::CHECK_FINDING_OK;
    case checks::Finding::kWarning:
      return v1::CHECK_FINDING_WARNING;
    case checks::Finding::kFault:
      return v1::CHECK_FINDING_FAULT;
  }
  return v1::CHECK_FINDING_UNSPECIFIED;
}

// Each run makes the same checks in the same order. The numbers in the words change all the time.
void LogWhatBecameWorse(const checks::CheckReport& before, const checks::CheckReport& now) {
  for (std::size_t i = 0; i < now.lines.size(); ++i) {
    const checks::CheckLine& line = now.lines[i];
    const checks::Finding then = i < before.lines.size() ? before.lines[i].finding : checks::Finding::kOk;
    if (line.finding > then) runtime::LogWarning("{}: {}. {}", line.check, line.found, line.remedy);
  }
}

}  // namespace

SelfChecks::SelfChecks(const NodeConfig& config, config::TlsSource tls, const runtime::Clock& clock)
    : tls_(std::move(tls)), clock_(clock), reports_slots_(!config.panels.empty()), slot_(config.slot) {
  const auto on_board = [](const panel::PanelConfig& panel) { return panel.accelerator.xrt.has_value(); };
  needs_board_ = std::ranges::any_of(config.panels, on_board) ||
                 (config.fusion && config.fusion->accelerator.xrt.has_value());
  if (config.tls && config.renewal.on) renewed_certificate_ = config.tls->certificate;
  if (config.disk) folders_.push_back(config.disk->folder);
  if (config.federation && !config.federation->state.empty()) {
    const std::filesystem::path folder = std::filesystem::path(config.federation->state).parent_path();
    folders_.push_back(folder.empty() ? "." : folder.string());
  }
}

checks::CheckReport SelfChecks::Check() const {
  checks::CheckReport report;
  if (needs_board_) report.lines.push_back(checks::CheckDeviceNode());
  if (reports_slots_) report.lines.push_back(checks::CheckSynchronisation(slot_));
  if (tls_ != nullptr) {
    const auto material = tls_->material();
    report.lines.push_back(checks::JudgeExpiry(material->expires_unix_s, material->ca_expires_unix_s,
                                               clock_.UnixNs() / 1'000'000'000,
                                               !renewed_certificate_.empty()));
  }
  if (!renewed_certificate_.empty()) report.lines.push_back(checks::CheckRenewal(renewed_certificate_));
  for (const std::string& folder : folders_) report.lines.push_back(checks::CheckDisk(folder));
  report.lines.push_back(checks::CheckMemory());
  return report;
}

void SelfChecks::Tick() {
  if (checked_unix_ns_ != 0 && clock_.SteadyNs() < next_steady_ns_) return;
  next_steady_ns_ = clock_.SteadyNs() + kIntervalNs;
  checks::CheckReport report = Check();
  LogWhatBecameWorse(report_, report);
  report_ = std::move(report);
  checked_unix_ns_ = clock_.UnixNs();
}

void SelfChecks::AddTo(v1::NodeStatus& status) const {
  for (const checks::CheckLine& line : report_.lines) {
    v1::NodeCheck& check = *status.add_checks();
    check.set_check(line.check);
    check.set_finding(FindingMessage(line.finding));
    check.set_found(line.found);
    check.set_remedy(line.remedy);
  }
  status.set_checked_unix_ns(checked_unix_ns_);
}

}  // namespace tributary::node
