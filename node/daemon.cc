#include "node/daemon.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/http/foreign_host.h"
#include "core/http/http_server.h"
#include "core/link/uplink_log.h"
#include "core/runtime/clock_discipline.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "node/learner/classifier_trainer.h"
#include "node/learner/external_trainer.h"
#include "node/learner/image_trainer.h"
#include "node/learner/modulation_trainer.h"
#include "node/learner/positioning_trainer.h"
#include "node/panel/panel_factory.h"
#include "node/report_hello.h"
#include "node/retraining/samples_routes.h"
#include "node/self_report.h"

namespace tributary::node {
namespace {

// What a node's other threads take after their start: connections, HTTP, log.
constexpr std::uint64_t kReservedBytes = 24 << 20;

}  // namespace

Daemon::Daemon(NodeConfig config, const runtime::Clock& clock)
    : clock_(clock), config_(std::move(config)), started_unix_ns_(clock.UnixNs()) {
  metrics_.AddProcessMetrics();
  runtime::AddClockMetrics(metrics_);
  metrics_.AddCollector([this](runtime::Reading& reading) { CollectRenewals(renewal_.get(), reading); });
  http_.SetGate([](http::HttpRequest& request) { return http::RefuseForeignHost(request); });
  http::AddDaemonRoutes(http_, metrics_);
  http_.Route("/readyz", [this](const http::HttpRequest&) { return Ready(); });
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Create(PreparedNode prepared, const runtime::Clock& clock) {
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(prepared.config), clock));
  if (prepared.tls) {
    daemon->tls_ = std::make_shared<config::LiveTls>(*daemon->config_.tls, config::kClientOnly,
                                                     *std::move(prepared.tls), clock);
    daemon->metrics_.AddCollector(
        [&tls = *daemon->tls_](runtime::Reading& reading) { tls.Collect(reading); });
  }
  if (prepared.tls && daemon->config_.renewal.on) daemon->OpenRenewal();
  daemon->checks_ = std::make_unique<SelfChecks>(daemon->config_, daemon->tls_, clock);
  // Before anything connects: a second node of the same configuration ends here, and the first goes on.
  if (!daemon->config_.http_listen.empty()) {
    RETURN_IF_ERROR(WithContext("http.listen", daemon->http_.Bind(daemon->config_.http_listen)));
  }
  if (daemon->config_.federation) RETURN_IF_ERROR(daemon->OpenLearner(prepared));
  if (!prepared.panels.empty()) RETURN_IF_ERROR(daemon->OpenPanels(std::move(prepared)));
  return daemon;
}

void Daemon::OpenRenewal() {
  renewal_ =
      std::make_unique<CertificateRenewal>(HomeOf(config_), *config_.tls, config_.renewal, tls_, clock_);
}

absl::Status Daemon::OpenLearner(PreparedNode& prepared) {
  if (config_.federation->board) {
    auto board = learner::TrainingBoard::Open(*config_.federation->board);
    if (!board.ok()) return WithContext("federation", board.status());
    training_board_ = *std::move(board);
    xclbin_uuid_ = accelerator::XclbinUuid(*config_.federation->board);
    metrics_.AddCounts<panel::DeviceCounters>(
        {{"panel", "[federation]"}}, [this] { return training_board_->counters(); }, panel::kDeviceMetrics);
  }
  learner::LearnerOptions options{
      .client = {config_.federation->aggregator, tls_, config_.node, config_.federation->run},
      .state_file = config_.federation->state,
      .memory_bytes = config_.federation->memory_bytes,
      .reserved_bytes = kReservedBytes + 2 * config_.spool.bytes};  // a frame's fields and its bytes
  std::unique_ptr<learner::Trainer> trainer;
  if (config_.federation->trainer) {
    trainer =
        std::make_unique<learner::ExternalTrainer>(*config_.federation->trainer, config_.node, metrics_);
  } else if (config_.federation->beacon) {
    trainer = std::make_unique<learner::BeaconTrainer>(*std::move(prepared.examples));
  } else if (config_.federation->modulation) {
    trainer = std::make_unique<learner::ModulationTrainer>(*prepared.bursts, config_.node,
                                                           config_.federation->held_out);
  } else if (config_.federation->positioning) {
    trainer = std::make_unique<learner::PositioningTrainer>(*prepared.points, config_.node,
                                                            config_.federation->held_out);
  } else if (config_.federation->classifier) {
    trainer = std::make_unique<learner::ClassifierTrainer>(
        *std::move(prepared.images), config_.node, config_.federation->held_out, training_board_.get());
  } else {
    trainer = std::make_unique<learner::ImageTrainer>(*std::move(prepared.images), config_.node,
                                                      config_.federation->buffer, training_board_.get());
  }
  learner_ = std::make_unique<learner::Learner>(std::move(options), std::move(trainer), clock_, metrics_);
  return absl::OkStatus();
}

absl::Status Daemon::OpenPanels(PreparedNode prepared) {
  for (const panel::PanelConfig& panel : config_.panels) {
    if (panel.accelerator.xrt && xclbin_uuid_.empty())
      xclbin_uuid_ = accelerator::XclbinUuid(*panel.accelerator.xrt);
  }
  std::vector<panel::PanelParts> parts;
  for (std::size_t i = 0; i < config_.panels.size(); ++i) {
    ASSIGN_OR_RETURN(panel::PanelParts opened,
                     panel::OpenParts(config_.panels[i], *prepared.models[i], prepared.in_force[i],
                                      std::move(prepared.panels[i]), clock_));
    parts.push_back(std::move(opened));
  }
  std::unique_ptr<accelerator::Accelerator> fuser;
  if (config_.fusion) {
    auto created = accelerator::CreateFusion(config_.fusion->accelerator, parts.size());
    if (!created.ok()) return WithContext("fusion", created.status());
    fuser = *std::move(created);
  }
  link::UplinkOptions options{.aggregator = config_.aggregator,
                              .tls = tls_,
                              .spool = config_.spool,
                              .disk = config_.disk,
                              .frames_per_message = config_.frames_per_message,
                              .metric_labels = {}};
  ASSIGN_OR_RETURN(
      uplink_,
      link::Uplink::Create(std::move(options), HelloOf(config_, *prepared.models.front()), clock_, metrics_));
  if (fuser != nullptr) {
    panel::BoardFusion::Options fusion{config_.fusion->name, parts.size(),
                                       static_cast<std::int64_t>(1e6 * config_.fusion->deadline_ms)};
    fusion_ =
        std::make_unique<panel::BoardFusion>(std::move(fusion), std::move(fuser), clock_, *uplink_, metrics_);
  }
  link::TupleSink& sink = fusion_ == nullptr ? static_cast<link::TupleSink&>(*uplink_) : *fusion_;

  for (std::size_t i = 0; i < parts.size(); ++i) {
    const panel::PanelConfig& panel = config_.panels[i];
    panel::OpenPanel open = [this, panel, model = prepared.models[i], in_force = prepared.in_force[i]] {
      return panel::OpenParts(panel, *model, in_force, {}, clock_);
    };
    panels_.push_back(
        std::make_unique<panel::Panel>(panel::Panel::Identity{panel.name, static_cast<std::uint32_t>(i)},
                                       std::move(parts[i]), std::move(open), clock_, sink, metrics_));
  }
  OpenRetraining(prepared);
  return absl::OkStatus();
}

void Daemon::OpenRetraining(const PreparedNode& prepared) {
  retraining::Retrainers by_http;
  for (std::size_t i = 0; i < config_.panels.size(); ++i) {
    const panel::PanelConfig& panel = config_.panels[i];
    if (!panel.retraining) continue;
    auto retrainer = std::make_unique<retraining::BeaconRetrainer>(
        panel.name, *panel.retraining, std::get<nn::BeaconNetwork>(*prepared.models[i]), prepared.in_force[i],
        panel::BeaconWeightStep(panel), metrics_);
    if (prepared.in_force[i]->content().network->training_set !=
        panel::ProvenanceOf(*prepared.models[i]).training_set) {
      runtime::LogInfo("panel {}: begins with the network that {} keeps", panel.name,
                       panel.retraining->state_file);
    }
    if (panel.retraining->http) by_http.emplace(panel.name, retrainer.get());
    retrainers_.emplace(panel.name, std::move(retrainer));
  }
  if (!by_http.empty()) retraining::AddSamplesRoutes(http_, std::move(by_http));
}

// Frames sensed now reach the aggregator, and the learner takes tasks.
http::HttpResponse Daemon::Ready() const {
  const auto answer = [](bool ready, std::string_view state) {
    return ready ? http::HttpResponse{.body = std::string(state) + "\n"} : http::HttpProblem(503, state);
  };
  const bool participates = learner_ == nullptr || learner_->state() == v1::PARENT_STATE_PARTICIPATING;
  if (uplink_ == nullptr || (uplink_->state() == link::UplinkState::kReporting && !participates)) {
    return answer(participates, wire::EnumLabel(learner_->state()));
  }
  return answer(uplink_->state() == link::UplinkState::kReporting, link::UplinkStateName(uplink_->state()));
}

absl::Status Daemon::Start() {
  if (!config_.http_listen.empty()) {
    http_.Serve();
    runtime::LogInfo("metrics and health on port {}", http_.port());
  }
  if (fusion_ != nullptr) fusion_->Start();
  for (const auto& panel : panels_) panel->Start();
  for (const auto& [name, retrainer] : retrainers_) retrainer->Start();
  if (!panels_.empty())
    runtime::LogInfo("{} of site {}: {}", config_.node, config_.site,
                     runtime::Counted(panels_.size(), "panel"));
  if (learner_ != nullptr) learner_->Start();
  return absl::OkStatus();
}

void Daemon::Reload(const NodeConfig& config) {
  if (config.tls.has_value() != config_.tls.has_value()) {
    runtime::LogWarning("reload: restart to turn TLS {}", config.tls ? "on" : "off");
  } else if (tls_ != nullptr) {
    tls_->Reload(*config.tls);
  }
}

void Daemon::Tick() {
  constexpr std::int64_t kStatusIntervalNs = 1'000'000'000;
  if (tls_ != nullptr) tls_->Poll();
  if (renewal_ != nullptr) renewal_->Tick();
  checks_->Tick();
  if (uplink_ == nullptr || clock_.SteadyNs() < next_status_steady_ns_) return;
  next_status_steady_ns_ = clock_.SteadyNs() + kStatusIntervalNs;
  v1::NodeStatus status =
      SelfReport({.started_unix_ns = started_unix_ns_, .xclbin_uuid = xclbin_uuid_, .problems = Problems()});
  checks_->AddTo(status);
  uplink_->SayStatus(std::move(status));
}

std::vector<std::string> Daemon::Problems() const {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    const panel::PanelState state = panels_[i]->state();
    if (state == panel::PanelState::kRestarting || state == panel::PanelState::kFailed) {
      problems.push_back(fmt::format("panel {} {}", config_.panels[i].name,
                                     state == panel::PanelState::kFailed ? "has failed" : "restarts"));
    }
  }
  if (const auto disk = uplink_ == nullptr ? std::nullopt : uplink_->counters().disk;
      disk && !disk->healthy) {
    problems.push_back(fmt::format("spool_dir {} cannot be used", config_.disk->folder));
  }
  if (learner_ != nullptr && learner_->state() != v1::PARENT_STATE_PARTICIPATING) {
    problems.push_back(fmt::format("learner {}: {}", wire::EnumLabel(learner_->state()),
                                   std::string(learner_->last_error().message())));
  }
  for (const auto& [name, retrainer] : retrainers_) {
    if (const std::string problem = retrainer->problem(); !problem.empty())
      problems.push_back(fmt::format("panel {}: {}", name, problem));
  }
  if (renewal_ != nullptr && !renewal_->problem().empty()) {
    problems.push_back("certificate is not renewed: " + renewal_->problem());
  }
  return problems;
}

bool Daemon::finished() const {
  return learner_ == nullptr && std::ranges::all_of(panels_, [](const auto& panel) {
           return panel->state() == panel::PanelState::kFinished ||
                  panel->state() == panel::PanelState::kFailed;
         });
}

bool Daemon::failed() const {
  return std::ranges::any_of(panels_,
                             [](const auto& panel) { return panel->state() == panel::PanelState::kFailed; });
}

void Daemon::Stop() {
  for (const auto& [name, retrainer] : retrainers_) retrainer->Stop();
  for (const auto& panel : panels_) panel->RequestStop();
  for (const auto& panel : panels_) panel->Stop();
  if (fusion_ != nullptr) fusion_->Stop();
  if (learner_ != nullptr) learner_->Stop();
  if (uplink_ == nullptr) return;
  const link::UplinkEnd end(*uplink_);
  const std::uint64_t left =
      uplink_->Stop(std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * config_.drain_s)));
  if (left > 0) {
    runtime::LogError("{} dropped: {}", runtime::Counted(left, "frame"),
                      link::WhyLeft(end, config_.aggregator, config_.drain_s));
  }
}

}  // namespace tributary::node
