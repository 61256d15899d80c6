#include "aggregator/learning/service/operations.h"

#include <fmt/format.h>

#include <utility>

#include "core/learning/run_config.h"
#include "core/runtime/process.h"

namespace tributary::learning {
namespace {

absl::StatusOr<v1::Run> RunOn(const RunBoard& board, const std::string& name) {
  const auto record = board.Find(name);
  // Deleted in the meantime.
  return record == nullptr ? v1::Run() : record->run;
}

}  // namespace

void Operations::Note(const access::Caller& caller, const std::string& action, const std::string& subject,
                      const absl::Status& outcome) const {
  if (audit_ != nullptr) audit_->Add({caller, action, subject, outcome});
}

void Operations::ChangeRun(access::Caller caller, std::string action, const std::string& run,
                           std::string subject, Change change, Done done) const {
  coordinator_.Change(run, std::move(change),
                      [*this, caller = std::move(caller), action = std::move(action), run,
                       subject = std::move(subject), done = std::move(done)](const absl::Status& status) {
                        Note(caller, action, subject, status);
                        if (!status.ok()) return done(status);
                        done(RunOn(coordinator_.board(), run));
                      });
}

void Operations::Start(access::Caller caller, std::string config, std::string model, Done done) const {
  std::string name = RunNameIn(config);
  coordinator_.StartRun(
      std::move(config), std::move(model),
      [*this, caller = std::move(caller), name = std::move(name),
       done = std::move(done)](const absl::StatusOr<std::string>& run) {
        runtime::ReturnFreedMemory();  // taking a model in needs some times its size for a moment
        Note(caller, "StartRun", name, run.status());
        if (!run.ok()) {
          ++coordinator_.counters().refused_runs;
          return done(run.status());
        }
        done(RunOn(coordinator_.board(), *run));
      });
}

void Operations::RefuseStart(const access::Caller& caller, std::string_view config,
                             const absl::Status& refusal) const {
  ++coordinator_.counters().refused_runs;
  Note(caller, "StartRun", RunNameIn(config), refusal);
}

void Operations::Pause(access::Caller caller, const std::string& run, Done done) const {
  ChangeRun(std::move(caller), "PauseRun", run, run, &Run::Pause, std::move(done));
}

void Operations::Resume(access::Caller caller, const std::string& run, Done done) const {
  ChangeRun(std::move(caller), "ResumeRun", run, run, &Run::Resume, std::move(done));
}

void Operations::Stop(access::Caller caller, const std::string& run, Done done) const {
  ChangeRun(std::move(caller), "StopRun", run, run, &Run::Stop, std::move(done));
}

void Operations::RollBack(access::Caller caller, const std::string& run, std::uint32_t round,
                          Done done) const {
  ChangeRun(
      std::move(caller), "RollBackModel", run, fmt::format("{} round {}", run, round),
      [round](Run& of) { return of.RollBack(round); }, std::move(done));
}

void Operations::Delete(access::Caller caller, const std::string& run, Done done) const {
  const auto last = coordinator_.board().Find(run);
  coordinator_.DeleteRun(run, [*this, caller = std::move(caller), run, last,
                               done = std::move(done)](const absl::Status& status) {
    Note(caller, "DeleteRun", run, status);
    if (!status.ok()) return done(status);
    done(last == nullptr ? v1::Run() : last->run);
  });
}

}  // namespace tributary::learning
