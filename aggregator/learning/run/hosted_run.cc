#include "aggregator/learning/run/hosted_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aggregator/learning/run/robust_combination.h"
#include "aggregator/learning/run/update_file.h"
#include "core/runtime/process_tuning.h"

namespace tributary {
namespace {

absl::Status AppendAll(DurableFile& file, std::string_view bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  absl::Status status;
  while (status.ok() && !bytes.empty()) {
    status = file.Append(bytes.substr(0, kBlock));
    bytes.remove_prefix(std::min(kBlock, bytes.size()));
  }
  return status;
}

}  // namespace

HostedRun::HostedRun(const RunSurroundings& surroundings, RunState state, FlatModel model)
    : surroundings_(surroundings),
      state_(std::move(state)),
      layout_(std::move(model.layout)),
      model_(std::move(model.values)),
      round_under_way_(state_.config().asynchronous() ? nullptr
                                                      : std::make_shared<std::atomic<std::uint32_t>>(0)) {}

std::unique_ptr<HostedRun> HostedRun::Make(const RunSurroundings& surroundings, RunState state,
                                           FlatModel model) {
  return std::unique_ptr<HostedRun>(new HostedRun(surroundings, std::move(state), std::move(model)));
}

absl::Status HostedRun::Prepare(std::string_view config_text) {
  config_text_ = config_text;
  absl::StatusOr<std::unique_ptr<Strategy>> strategy =
      Strategy::Create(state_.config().strategy, layout_.element_count, FindStatistics(layout_.tensors));
  if (!strategy.ok()) return strategy.status();
  strategy_ = *std::move(strategy);
  if (!strategy_->needs_every_update()) sum_.emplace(layout_.element_count);
  return KeepLotsSecret();
}

absl::StatusOr<std::unique_ptr<HostedRun>> HostedRun::Start(const RunSurroundings& surroundings,
                                                            std::string_view config_text,
                                                            std::string_view model_file) {
  absl::StatusOr<RunConfig> config = ParseRunConfig(config_text, "run");
  if (!config.ok()) return config.status();
  absl::StatusOr<FlatModel> model = DecodeFlatModel(model_file);
  if (!model.ok()) {
    return absl::InvalidArgumentError(fmt::format("model: {}", std::string(model.status().message())));
  }
  const Sha256 identity = FlatIdentity(model->layout.tensors, model->values);
  absl::StatusOr<RunState> state = RunState::Create(
      *std::move(config), {model->layout.schema_sha256, identity, model->layout.element_count});
  if (!state.ok()) return state.status();
  std::unique_ptr<HostedRun> run = Make(surroundings, *std::move(state), *std::move(model));
  if (absl::Status status = run->Prepare(config_text); !status.ok()) return status;

  if (absl::Status status = run->Add(0); !status.ok()) return status;
  return run;
}

absl::Status HostedRun::Add(std::uint32_t model_round) {
  absl::StatusOr<DurableFile> file = WriteModel(model_round);
  if (!file.ok()) return file.status();
  started_unix_ns_ = surroundings_.clock.UnixNs();
  model_record_ = {
      model_round, BytesOf(state_.model().model), layout_.element_count, started_unix_ns_, file->facts(), {}};
  models_ = {model_record_};
  return surroundings_.store.AddRun({name(), config_text_, Document(), started_unix_ns_, model_round},
                                    model_record_, *std::move(file));
}

absl::StatusOr<DurableFile> HostedRun::WriteModel(std::uint32_t round) {
  absl::StatusOr<DurableFile> file = surroundings_.store.NewModel(name(), round);
  if (!file.ok()) return file;
  absl::Status status = file->Append(layout_.file_header);
  if (status.ok()) status = AppendAll(*file, BytesOf(model_));
  if (!status.ok()) return status;
  return file;
}

absl::StatusOr<std::optional<DurableFile>> HostedRun::WriteStrategyState(std::uint32_t round) {
  const std::vector<StrategyState> state = strategy_->state();
  if (state.empty()) return std::nullopt;
  absl::StatusOr<DurableFile> file = surroundings_.store.NewStrategyState(name(), round);
  if (!file.ok()) return file.status();
  for (const StrategyState& part : state) {
    if (absl::Status status = AppendAll(*file, BytesOf(part.values)); !status.ok()) return status;
  }
  return std::optional<DurableFile>(*std::move(file));
}

std::string HostedRun::Document() const {
  RunDocument document{state_.Snapshot(), failure_, round_started_unix_ns_, refused_,
                       state_.config().relayed};
  document.snapshot.accepted.clear();
  return EncodeRunDocument(document);
}

bool HostedRun::Healthy(absl::Status status) {
  if (status.ok()) return true;
  spdlog::error("run {} stops until a restart, nothing is overwritten: {}", name(),
                std::string(status.message()));
  health_ = absl::UnavailableError(
      fmt::format("run \"{}\" has stopped until a restart: {}", name(), std::string(status.message())));
  return false;
}

absl::Status HostedRun::Join(const NodeDeclaration& declaration) {
  if (!health_.ok()) return health_;
  RunEvents events;
  absl::Status status = state_.Join(declaration, surroundings_.clock.SteadyNs(), events);
  Apply(events, false);
  return status.ok() ? health_ : status;
}

void HostedRun::Leave(std::string_view node, std::string_view boot_id) {
  RunEvents events;
  state_.Leave(node, boot_id, surroundings_.clock.SteadyNs(), events);
  Apply(events, false);
}

Admission HostedRun::Admit(const SubmissionHeader& header) {
  Admission admission = state_.Admit(header, surroundings_.clock.SteadyNs());
  if (admission.verdict == AdmissionVerdict::kRefused) CountRefusal();
  return admission;
}

void HostedRun::CountRefusal() {
  ++refused_;
  ++totals_.refused_updates;
}

absl::StatusOr<Upload> HostedRun::NewUpload(const SubmissionHeader& header) {
  if (!health_.ok()) return health_;
  absl::StatusOr<DurableFile> file = surroundings_.store.NewSubmission();
  if (!file.ok()) return file.status();
  const RunConfig& config = state_.config();
  if (round_under_way_) *round_under_way_ = state_.round();
  return Upload(header, {static_cast<float>(config.max_element), config.clip_norm > 0, round_under_way_},
                *std::move(file));
}

Admission HostedRun::Submit(Upload upload) {
  const SubmissionHeader& header = upload.header();
  RunEvents events;
  Admission admission = state_.Accept(header, surroundings_.clock.SteadyNs(), events);
  if (admission.verdict != AdmissionVerdict::kGo) {
    if (admission.verdict == AdmissionVerdict::kRefused) CountRefusal();
    Apply(events, false);
    return admission;
  }
  Submission submission{{{header, admission.weight}, upload.norm(), upload.payload_bytes()}, {}};
  DurableFile file = upload.TakeFile();
  submission.file = file.facts();
  if (!Healthy(surroundings_.store.AddSubmission(
          name(), Document(), {header.node, EncodeSubmissionDocument(submission.document), submission.file},
          std::move(file)))) {
    return {AdmissionVerdict::kRefused, 0, SubmissionRefusal::kStore, std::string(health_.message()), true};
  }
  // Stored: whatever happens from here on, a restart has it.
  submissions_.push_back(std::move(submission));
  ++totals_.accepted_updates;
  if (Healthy(AddUp(submissions_.back().document, submissions_.back().file))) Apply(events, true);
  return admission;
}

void HostedRun::Withdraw(const SubmissionHeader& header, SubmissionRefusal reason) {
  CountRefusal();
  state_.Withdraw(header, reason);
}

absl::StatusOr<bool> HostedRun::Decline(std::string_view node, std::string_view boot_id, std::uint32_t round,
                                        const TaskDecline& decline) {
  if (!health_.ok()) return health_;
  const std::uint32_t under_way = state_.round();
  const std::uint32_t before = state_.declined().count;
  RunEvents events;
  const absl::StatusOr<bool> news =
      state_.Decline(node, boot_id, round, decline, surroundings_.clock.SteadyNs(), events);
  // The first of a round: what a crowd says is in the round's line.
  if (news.ok() && *news && before < DeclinedTasks::kNamed) {
    spdlog::warn("run {}: {} does not train in round {}{}: {}: {}", name(), node, under_way,
                 decline.for_good ? ", nor is it asked again" : "", DeclineReasonName(decline.reason),
                 decline.message);
  }
  if (news.ok() && *news) ++totals_.declined_tasks;
  Apply(events, false);
  if (!news.ok()) return news.status();
  return health_.ok() ? news : health_;
}

absl::Status HostedRun::AddUp(const SubmissionDocument& document, const FileFacts& file) {
  if (!sum_) return absl::OkStatus();  // combined at the end of the round
  absl::StatusOr<CheckedReader> reader = surroundings_.store.Read(file);
  if (!reader.ok()) return reader.status();
  const double clip = state_.config().clip_norm;
  const bool scaled = clip > 0 && document.norm > clip;
  std::vector<float> clipped;
  const SubmissionHeader& header = document.update.header;
  return ReadUpdate(
      *reader, header.encoding, header.element_count,
      [&](std::uint64_t offset, std::span<const float> values, std::span<const std::int32_t> words) {
        if (!words.empty()) return sum_->AddFixed(offset, words);
        if (!scaled) return sum_->Add(offset, values, document.update.weight);
        clipped.assign(values.begin(), values.end());
        const auto factor = static_cast<float>(clip / document.norm);
        for (float& value : clipped) value *= factor;
        return sum_->Add(offset, clipped, document.update.weight);
      });
}

void HostedRun::Apply(const RunEvents& events, bool saved) {
  if (!health_.ok() || events.empty()) return;
  if (round_under_way_) *round_under_way_ = state_.round();
  for (const RunEvent& event : events) {
    const auto* failed = std::get_if<RoundFailed>(&event);
    if (failed == nullptr) continue;
    RoundLine line =
        MakeLine(failed->round, static_cast<std::uint32_t>(failed->dropped.size()), failed->declined);
    line.failure = failed->reason;
    line.model_sha256.clear();
    submissions_.clear();
    if (!Healthy(surroundings_.store.DropSubmissions(name(), Document(),
                                                     {0, failed->round, EncodeRoundLine(line)}))) {
      return;
    }
    spdlog::warn("run {}: round {} changed nothing: {}", name(), failed->round, failed->reason);
    LeaveOutLiars(failed->round);
    history_.push_back(std::make_shared<const RoundLine>(std::move(line)));
    saved = true;
  }
  for (const RunEvent& event : events) {
    const auto* started = std::get_if<RoundStarted>(&event);
    if (started == nullptr) continue;
    round_started_unix_ns_ = surroundings_.clock.UnixNs();
    asked_ = static_cast<std::uint32_t>(started->asked.size());
    refused_ = 0;
    if (sum_) sum_->Start(started->fixed_point);
    masking_.reset();
    if (state_.config().privacy.secure_aggregation) masking_.emplace(MaskingContext(name(), started->round));
    saved = false;
  }
  if (!saved && !Healthy(surroundings_.store.SaveDocument(name(), Document()))) return;
  for (const RunEvent& event : events) {
    if (const auto* step = std::get_if<StepStarted>(&event)) FailUnless(BeginMaskingStep(*step), step->round);
    if (const auto* closed = std::get_if<RoundClosed>(&event)) Healthy(CloseRound(*closed));
  }
}

absl::StatusOr<std::span<float>> HostedRun::Combine(const RoundClosed& closed) {
  if (sum_) return sum_->TakeMean(closed.total_weight);
  std::vector<StoredUpdate> updates;
  for (const Submission& each : submissions_) updates.push_back({each.document, each.file});
  combined_.resize(layout_.element_count);
  absl::Status status =
      CombineRobustly(*strategy_, surroundings_.store, updates, state_.config().clip_norm, combined_);
  if (!status.ok()) return status;
  return std::span<float>(combined_);
}

absl::Status HostedRun::CloseRound(const RoundClosed& closed) {
  if (masking_) {
    const absl::Status status = masking_->Unmask(*sum_);
    FailUnless(status, closed.round);
    if (!status.ok()) return health_;
  }
  absl::StatusOr<std::span<float>> combined = Combine(closed);
  if (!combined.ok()) return combined.status();
  if (absl::Status status = AddNoise(closed, *combined); !status.ok()) return status;
  RoundLine line =
      MakeLine(closed.round, static_cast<std::uint32_t>(closed.dropped.size()), state_.declined());
  line.update_norm = std::sqrt(SumOfSquares(*combined));
  line.epsilon = Epsilon(closed.round);
  RunEvents events;
  if (absl::Status status = strategy_->Step(*combined, model_); !status.ok()) {
    failure_ = fmt::format("round {}: {}", closed.round, std::string(status.message()));
    if (absl::Status stopped = state_.Stop(events); !stopped.ok()) return stopped;
    return surroundings_.store.SaveDocument(name(), Document());
  }
  const Sha256 identity = FlatIdentity(layout_.tensors, model_);
  line.model_sha256 = BytesOf(identity);
  absl::StatusOr<DurableFile> file = WriteModel(closed.round);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::optional<DurableFile>> state = WriteStrategyState(closed.round);
  if (!state.ok()) return state.status();
  ModelRecord record{closed.round,       line.model_sha256, layout_.element_count,
                     line.ended_unix_ns, file->facts(),     {}};
  if (*state) record.strategy_state = (*state)->facts();

  absl::Status status = state_.Commit(closed.round, identity, surroundings_.clock.SteadyNs(), events);
  if (!status.ok()) return status;
  submissions_.clear();
  status =
      surroundings_.store.CommitRound(name(), Document(), record, *std::move(file), *std::move(state),
                                      {0, closed.round, EncodeRoundLine(line)}, surroundings_.keep_models);
  if (!status.ok()) return status;
  spdlog::info("run {}: round {} committed, {} updates, loss {:.4f}", name(), closed.round, line.accepted,
               line.loss);
  model_record_ = std::move(record);
  history_.push_back(std::make_shared<const RoundLine>(std::move(line)));
  absl::StatusOr<std::vector<ModelRecord>> models = surroundings_.store.Models(name());
  if (!models.ok()) return models.status();
  models_ = *std::move(models);
  ReturnFreedMemory();
  // Already stored, but for a round that begins at once.
  Apply(events, true);
  return absl::OkStatus();
}

RoundLine HostedRun::MakeLine(std::uint32_t round, std::uint32_t dropped,
                              const DeclinedTasks& declined) const {
  RoundLine line;
  line.round = round;
  line.started_unix_ns = round_started_unix_ns_;
  line.ended_unix_ns = surroundings_.clock.UnixNs();
  line.asked = asked_;
  line.accepted = static_cast<std::uint32_t>(submissions_.size());
  line.refused = static_cast<std::uint32_t>(refused_);
  line.dropped = dropped;
  line.declined = declined.count;
  for (const DeclinedTasks::One& each : declined.named) {
    line.declines.push_back(
        {each.node, std::string(DeclineReasonName(each.decline.reason)), each.decline.message});
  }
  for (const Submission& each : submissions_) {
    const SubmissionHeader& header = each.document.update.header;
    const auto samples = static_cast<double>(header.sample_count);
    line.sample_count += header.sample_count;
    line.loss += samples * header.metrics.loss;
    line.spread += samples * header.metrics.spread;
    line.received_bytes += each.document.payload_bytes;
    line.contributions.push_back(
        {header.node, header.sample_count, header.metrics.loss, header.metrics.seconds});
  }
  if (line.sample_count > 0) {
    line.loss /= static_cast<double>(line.sample_count);
    line.spread /= static_cast<double>(line.sample_count);
  }
  std::ranges::sort(line.contributions, {}, &RoundContribution::node);
  return line;
}

absl::Status HostedRun::Pause() {
  if (!health_.ok()) return health_;
  RunEvents events;
  absl::Status status = state_.Pause(events);
  Apply(events, false);
  return status.ok() ? health_ : status;
}

absl::Status HostedRun::Resume() {
  if (!health_.ok()) return health_;
  RunEvents events;
  absl::Status status = state_.Resume(surroundings_.clock.SteadyNs(), events);
  Apply(events, false);
  return status.ok() ? health_ : status;
}

absl::Status HostedRun::Stop() {
  if (!health_.ok()) return health_;
  RunEvents events;
  absl::Status status = state_.Stop(events);
  Apply(events, false);
  return status.ok() ? health_ : status;
}

std::int64_t HostedRun::Advance() {
  if (!health_.ok()) return RunState::kNoDeadline;
  for (;;) {
    RunEvents events;
    const std::int64_t next = state_.Advance(surroundings_.clock.SteadyNs(), events);
    if (events.empty() || !health_.ok()) return next;
    Apply(events, false);
  }
}

}  // namespace tributary
