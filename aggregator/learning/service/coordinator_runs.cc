// What operators do with runs and models.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/service/coordinator.h"
#include "core/parameters/flat_model.h"

namespace tributary {

void Coordinator::StartRun(std::string config, std::string model, Done<absl::StatusOr<std::string>> done) {
  Post([this, config = std::move(config), model = std::move(model), done = std::move(done)] {
    done(TryStart(config, model));
  });
}

absl::StatusOr<std::string> Coordinator::TryStart(const std::string& config, const std::string& model) {
  absl::StatusOr<RunConfig> parsed = ParseRunConfig(config, "run");
  if (!parsed.ok()) return parsed.status();
  if (const HostedRun* present = Find(parsed->name)) {
    absl::StatusOr<FlatModel> given = DecodeFlatModel(model);
    if (!given.ok()) return absl::InvalidArgumentError(std::string(given.status().message()));
    const std::string sha = BytesOf(FlatIdentity(given->layout.tensors, given->values));
    const RunView view = present->View();
    if (present->config_text() == config && view.models.front().sha256 == sha) return parsed->name;
    return absl::AlreadyExistsError(
        fmt::format("there is a run \"{}\" with another configuration or model: give this one another name",
                    parsed->name));
  }
  absl::StatusOr<std::unique_ptr<HostedRun>> run = HostedRun::Start(surroundings_, config, model);
  if (!run.ok()) return run.status();
  spdlog::info("run {}: started, {} parameters", parsed->name, (*run)->layout().element_count);
  AddRun(*std::move(run));
  return parsed->name;
}

void Coordinator::AddRun(std::unique_ptr<HostedRun> run) {
  runs_.push_back(std::move(run));
  board_.Publish(runs_.back()->View());
  // Nodes that waited for a run.
  std::erase_if(participants_, [this](Participant& each) { return !each.joined && !Assign(each); });
}

void Coordinator::OnRun(std::string name, Done<absl::Status> done,
                        std::function<absl::Status(HostedRun&)> change) {
  Post([this, name = std::move(name), done = std::move(done), change = std::move(change)] {
    absl::StatusOr<HostedRun*> run = FindOrSay(name);
    const absl::Status status = run.ok() ? change(**run) : run.status();
    // Whoever is told reads the board next.
    if (run.ok()) board_.Publish((*run)->View());
    done(status);
  });
}

void Coordinator::Pause(std::string run, Done<absl::Status> done) {
  OnRun(std::move(run), std::move(done), [](HostedRun& each) { return each.Pause(); });
}

void Coordinator::Resume(std::string run, Done<absl::Status> done) {
  OnRun(std::move(run), std::move(done), [](HostedRun& each) { return each.Resume(); });
}

void Coordinator::StopRun(std::string run, Done<absl::Status> done) {
  OnRun(std::move(run), std::move(done), [](HostedRun& each) { return each.Stop(); });
}

void Coordinator::RollBack(std::string run, std::uint32_t round, Done<absl::Status> done) {
  OnRun(std::move(run), std::move(done), [round](HostedRun& each) { return each.RollBack(round); });
}

void Coordinator::AddJudgement(std::string run, std::uint32_t round, std::optional<Judgement> judgement) {
  OnRun(
      std::move(run), [](const absl::Status&) {},
      [round, judgement](HostedRun& each) {
        each.AddJudgement(round, judgement);
        return absl::OkStatus();
      });
}

absl::StatusOr<OpenModel> Coordinator::Open(const HostedRun& run, const ModelRecord& record) {
  absl::StatusOr<CheckedReader> file = store_->Read(record.file);
  if (!file.ok()) return file.status();
  ++open_models_;
  std::shared_ptr<void> place(nullptr, [this](void*) {
    Post([this] {
      --open_models_;
      OpenNext();
    });
  });
  return OpenModel{record, record.round == run.model_record().round, *std::move(file), std::move(place)};
}

void Coordinator::OpenInTurn(Command open) {
  Post([this, open = std::move(open)]() mutable {
    waiting_models_.push_back(std::move(open));
    OpenNext();
  });
}

void Coordinator::OpenNext() {
  while (open_models_ < kOpenModels && !waiting_models_.empty()) {
    const Command next = std::move(waiting_models_.front());
    waiting_models_.pop_front();
    next();
  }
}

void Coordinator::OpenRoundModel(std::string name, std::uint32_t round,
                                 Done<absl::StatusOr<OpenModel>> done) {
  OpenInTurn([this, name = std::move(name), round, done = std::move(done)] {
    absl::StatusOr<HostedRun*> run = FindOrSay(name);
    if (!run.ok()) return done(run.status());
    if ((*run)->state().round() != round) {
      return done(absl::FailedPreconditionError(fmt::format("round: {} is not under way in run \"{}\", {} is",
                                                            round, name, (*run)->state().round())));
    }
    done(Open(**run, (*run)->model_record()));
  });
}

void Coordinator::OpenModelAfter(std::string name, std::optional<std::uint32_t> round,
                                 Done<absl::StatusOr<OpenModel>> done) {
  OpenInTurn([this, name = std::move(name), round, done = std::move(done)] {
    absl::StatusOr<HostedRun*> run = FindOrSay(name);
    if (!run.ok()) return done(run.status());
    if (!round) return done(Open(**run, (*run)->model_record()));
    const RunView view = (*run)->View();
    const auto found = std::ranges::find(view.models, *round, &ModelRecord::round);
    if (found == view.models.end()) {
      return done(
          absl::NotFoundError(fmt::format("run \"{}\": the model of round {} is not kept", name, *round)));
    }
    done(Open(**run, *found));
  });
}

}  // namespace tributary
