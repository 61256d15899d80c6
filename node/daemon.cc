#include "node/daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/http/http_server.h"
#include "node/panel/panel_factory.h"
#include "node/summary.h"

namespace tributary::node {
Daemon::Daemon(const NodeConfig& config, const runtime::Clock& clock)
    : clock_(clock),
      node_(config.node),
      site_(config.site),
      drain_s_(config.drain_s),
      http_listen_(config.http_listen) {
  metrics_.AddProcessMetrics();
  http::AddHttpMetrics(http_, metrics_);
  AddRoutes();
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Create(PreparedNode prepared, const runtime::Clock& clock) {
  std::unique_ptr<Daemon> daemon(new Daemon(prepared.config, clock));
  if (prepared.images) daemon->OpenLearner(prepared);
  if (prepared.config.panels.empty()) return daemon;
  if (absl::Status status = daemon->OpenPanels(std::move(prepared)); !status.ok()) return status;
  return daemon;
}

void Daemon::AddSources(const NodeConfig& config, const std::vector<panel::PanelParts>& parts,
                        v1::Hello& hello) {
  std::vector<std::string> leaves;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    leaves.push_back(config.panels[i].name);
    if (!config.fusion) wire::AddSource(hello, leaves[i], parts[i].workload->dimension(), {leaves[i]});
  }
  if (config.fusion) wire::AddSource(hello, config.fusion->name, 2, leaves);
}

void Daemon::OpenLearner(PreparedNode& prepared) {
  const NodeConfig& config = prepared.config;
  learner::LearnerOptions options;
  options.client = {config.federation->aggregator, prepared.tls, config.node, config.federation->run};
  options.state_file = config.federation->state;
  options.buffer = config.federation->buffer;
  learner_ =
      std::make_unique<learner::Learner>(std::move(options), *std::move(prepared.images), clock_, metrics_);
}

absl::Status Daemon::OpenPanels(PreparedNode prepared) {
  const NodeConfig& config = prepared.config;
  link::UplinkOptions options;
  options.aggregator = config.aggregator;
  options.tls = prepared.tls;
  options.spool = config.spool;
  options.frames_per_message = config.frames_per_message;

  v1::Hello hello;
  hello.set_site(config.site);
  hello.set_node(config.node);
  hello.set_boot_id(wire::NewBootId());
  const panel::ModelIdentity& model = prepared.models.front()->identity;
  hello.mutable_model()->set_name(model.name);
  hello.mutable_model()->set_version(model.version);
  hello.mutable_model()->set_sha256(model.sha256);
  hello.set_slot_ns(static_cast<std::uint64_t>(config.slot.ns()));
  std::vector<panel::PanelParts> parts;
  for (std::size_t i = 0; i < config.panels.size(); ++i) {
    auto opened =
        panel::OpenParts(config.panels[i], *prepared.models[i], std::move(prepared.panels[i]), clock_);
    if (!opened.ok()) return opened.status();
    parts.push_back(*std::move(opened));
  }
  AddSources(config, parts, hello);
  std::unique_ptr<accelerator::Accelerator> fuser;
  if (config.fusion) {
    auto created = panel::MakeFusionAccelerator(*config.fusion, parts);
    if (!created.ok()) return created.status();
    fuser = *std::move(created);
  }
  auto uplink = link::Uplink::Create(std::move(options), std::move(hello), clock_, metrics_);
  if (!uplink.ok()) return uplink.status();
  uplink_ = *std::move(uplink);
  if (fuser != nullptr) {
    panel::BoardFusion::Options fusion{config.fusion->name, parts.size(),
                                       static_cast<std::int64_t>(1e6 * config.fusion->deadline_ms)};
    fusion_ =
        std::make_unique<panel::BoardFusion>(std::move(fusion), std::move(fuser), clock_, *uplink_, metrics_);
  }
  link::TupleSink& sink = fusion_ == nullptr ? static_cast<link::TupleSink&>(*uplink_) : *fusion_;

  for (std::size_t i = 0; i < parts.size(); ++i) {
    const panel::PanelConfig& panel = config.panels[i];
    panel::OpenPanel open = [this, panel, model = prepared.models[i]] {
      return panel::ReopenParts(panel, *model, clock_);
    };
    panels_.push_back(
        std::make_unique<panel::Panel>(panel::Panel::Identity{panel.name, static_cast<std::uint32_t>(i)},
                                       std::move(parts[i]), std::move(open), clock_, sink, metrics_));
  }
  return absl::OkStatus();
}

void Daemon::AddRoutes() {
  http_.Route("/metrics", [this](const http::HttpRequest&) {
    return http::HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", metrics_.Text()};
  });
  http_.Route("/healthz", [](const http::HttpRequest&) {
    return http::HttpResponse{200, "text/plain", "ok\n"};
  });
  http_.Route("/readyz", [this](const http::HttpRequest&) { return Ready(); });
}

// Frames sensed now reach the aggregator, and the learner takes tasks.
http::HttpResponse Daemon::Ready() const {
  const auto answer = [](bool ready, std::string_view state) {
    return ready ? http::HttpResponse{.body = std::string(state) + "\n"} : http::HttpProblem(503, state);
  };
  const bool participates = learner_ == nullptr || learner_->state() == link::FederationState::kParticipating;
  if (uplink_ == nullptr || (uplink_->state() == link::UplinkState::kReporting && !participates)) {
    return answer(participates, link::FederationStateName(learner_->state()));
  }
  return answer(uplink_->state() == link::UplinkState::kReporting, link::UplinkStateName(uplink_->state()));
}

absl::Status Daemon::Start() {
  if (!http_listen_.empty()) {
    if (absl::Status status = http_.Start(http_listen_); !status.ok()) {
      return absl::Status(status.code(),
                          fmt::format("http.listen: {}; set another port, or port 0 for any free one",
                                      std::string(status.message())));
    }
    spdlog::info("metrics and health on port {}", http_.port());
  }
  if (fusion_ != nullptr) fusion_->Start();
  for (const auto& panel : panels_) panel->Start();
  if (!panels_.empty()) spdlog::info("{} of site {}: {} panels", node_, site_, panels_.size());
  if (learner_ != nullptr) {
    learner_->Start();
    spdlog::info("{} learns from {} images", node_, learner_->image_count());
  }
  return absl::OkStatus();
}

bool Daemon::finished() const {
  return learner_ == nullptr && std::all_of(panels_.begin(), panels_.end(), [](const auto& panel) {
           return panel->state() == panel::PanelState::kFinished ||
                  panel->state() == panel::PanelState::kFailed;
         });
}

bool Daemon::failed() const {
  return std::any_of(panels_.begin(), panels_.end(),
                     [](const auto& panel) { return panel->state() == panel::PanelState::kFailed; });
}

void Daemon::Stop() {
  for (const auto& panel : panels_) panel->Stop();
  if (fusion_ != nullptr) fusion_->Stop();
  if (learner_ != nullptr) learner_->Stop();
  if (uplink_ == nullptr) return;
  const std::uint64_t left =
      uplink_->Stop(std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * drain_s_)));
  if (left > 0) spdlog::error("{} frames were not acknowledged within {} s and are lost", left, drain_s_);
}

std::string Daemon::Summary() const {
  return SummaryLine(node_, site_, panels_, fusion_.get(),
                     uplink_ == nullptr ? link::UplinkCounters() : uplink_->counters(), learner_.get());
}

}  // namespace tributary::node
