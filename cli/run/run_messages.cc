#include "cli/run/run_messages.h"

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "core/wire/peer_text.h"

namespace tributary::cli {
namespace {

constexpr double kPercent = 100;

nlohmann::ordered_json EvaluationJson(const v1::Evaluation& evaluation) {
  return {{"linear_probe", evaluation.linear_probe()},
          {"knn", evaluation.knn()},
          {"spread", evaluation.spread()},
          {"random_linear_probe", evaluation.random_linear_probe()},
          {"random_knn", evaluation.random_knn()},
          {"random_spread", evaluation.random_spread()},
          {"test_images", evaluation.test_images()}};
}

// Null between rounds.
nlohmann::ordered_json CurrentRoundJson(const v1::Run& run) {
  if (run.round() == 0) return nullptr;
  return {{"round", run.round()},
          {"deadline_unix_ns", std::to_string(run.deadline_unix_ns())},
          {"asked_nodes", run.asked_nodes()},
          {"accepted_updates", run.accepted_updates()},
          {"refused_updates", run.round_refused_updates()}};
}

}  // namespace

std::string RunStateName(v1::RunState state) {
  constexpr std::size_t kPrefix = sizeof("RUN_STATE_") - 1;
  const std::string& name = v1::RunState_Name(state);
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix)) : "unknown";
}

nlohmann::ordered_json RunJson(const v1::Run& run) {
  nlohmann::ordered_json json = {{"name", run.name()},
                                 {"state", RunStateName(run.state())},
                                 {"message", run.message()},
                                 {"strategy", run.strategy()},
                                 {"rounds", run.rounds()},
                                 {"committed_rounds", run.committed_rounds()},
                                 {"joined_nodes", run.joined_nodes()},
                                 {"connected_nodes", run.connected_nodes()},
                                 {"quorum", run.quorum()},
                                 {"element_count", run.element_count()},
                                 {"model_sha256", absl::BytesToHexString(run.model_sha256())},
                                 {"started_unix_ns", std::to_string(run.started_unix_ns())},
                                 {"current_round", CurrentRoundJson(run)},
                                 {"totals",
                                  {{"accepted_updates", run.total_accepted_updates()},
                                   {"refused_updates", run.refused_updates()},
                                   {"declined_tasks", run.total_declined_tasks()}}}};
  if (run.epsilon() > 0) json.update({{"epsilon", run.epsilon()}, {"delta", run.delta()}});
  return json;
}

nlohmann::ordered_json RoundJson(const v1::Round& round) {
  nlohmann::ordered_json contributions = nlohmann::ordered_json::array();
  for (const v1::RoundContribution& each : round.contributions()) {
    contributions.push_back({{"node", each.node()},
                             {"sample_count", each.sample_count()},
                             {"loss", each.loss()},
                             {"seconds", each.seconds()}});
  }
  nlohmann::ordered_json declines = nlohmann::ordered_json::array();
  for (const v1::RoundDecline& each : round.declines()) {
    declines.push_back({{"node", each.node()}, {"reason", each.reason()}, {"message", each.message()}});
  }
  nlohmann::ordered_json json = {{"round", round.round()},
                                 {"started_unix_ns", std::to_string(round.started_unix_ns())},
                                 {"ended_unix_ns", std::to_string(round.ended_unix_ns())},
                                 {"asked", round.asked()},
                                 {"accepted", round.accepted()},
                                 {"refused", round.refused()},
                                 {"dropped", round.dropped()},
                                 {"declined", round.declined()},
                                 {"sample_count", round.sample_count()},
                                 {"loss", round.loss()},
                                 {"spread", round.spread()},
                                 {"update_norm", round.update_norm()},
                                 {"received_bytes", round.received_bytes()},
                                 {"model_sha256", absl::BytesToHexString(round.model_sha256())},
                                 {"rolled_back", round.rolled_back()},
                                 {"failure", round.failure()},
                                 {"contributions", std::move(contributions)},
                                 {"declines", std::move(declines)}};
  if (round.has_evaluation()) json["evaluation"] = EvaluationJson(round.evaluation());
  if (round.epsilon() > 0) json["epsilon"] = round.epsilon();
  return json;
}

nlohmann::ordered_json ParticipantJson(const v1::Participant& participant) {
  return {{"node", participant.node()},
          {"connected", participant.connected()},
          {"sample_count", participant.sample_count()},
          {"last_round", participant.last_round()},
          {"accepted_updates", participant.accepted_updates()},
          {"refused_updates", participant.refused_updates()},
          {"dropped_rounds", participant.dropped_rounds()},
          {"declined_tasks", participant.declined_tasks()},
          {"last_refusal", participant.last_refusal()},
          {"cannot_train", participant.cannot_train()}};
}

nlohmann::ordered_json ModelJson(const v1::Model& model) {
  return {{"run", model.run()},
          {"round", model.round()},
          {"sha256", absl::BytesToHexString(model.sha256())},
          {"element_count", model.element_count()},
          {"file_bytes", model.file_bytes()},
          {"created_unix_ns", std::to_string(model.created_unix_ns())},
          {"current", model.current()}};
}

std::string ParticipantState(const v1::Participant& participant) {
  if (!participant.connected()) return "away";
  return participant.cannot_train().empty() ? "connected" : "cannot train";
}

std::string RoundHeading() {
  return fmt::format("{:>6} {:>8} {:>7} {:>7} {:>8} {:>8} {:>9} {:>14} {:>14} {:>12}  {}", "ROUND", "UPDATES",
                     "REFUSED", "SECONDS", "LOSS", "SPREAD", "RECEIVED", "PROBE/RANDOM %", "KNN/RANDOM %",
                     "TEST SPREAD", "NOTE");
}

std::string RoundLineText(const v1::Round& round) {
  if (round.rolled_back()) return fmt::format("{:>6} back to the model after this round", round.round());
  const double seconds = 1e-9 * static_cast<double>(round.ended_unix_ns() - round.started_unix_ns());
  // Where no update was taken there is nothing to tell of.
  const bool learned = round.accepted() > 0;
  std::string line = fmt::format("{:>6} {:>8} {:>7} {:>7.1f} {:>8} {:>8} {:>6.1f} MB", round.round(),
                                 fmt::format("{}/{}", round.accepted(), round.asked()), round.refused(),
                                 seconds, learned ? fmt::format("{:.4f}", round.loss()) : "-",
                                 learned ? fmt::format("{:.2f}", round.spread()) : "-",
                                 1e-6 * static_cast<double>(round.received_bytes()));
  if (round.has_evaluation()) {
    const v1::Evaluation& evaluation = round.evaluation();
    const auto beside_random = [](double value, double random) {
      return fmt::format("{:.1f}/{:.1f}", kPercent * value, kPercent * random);
    };
    line += fmt::format(" {:>14} {:>14} {:>12}",
                        beside_random(evaluation.linear_probe(), evaluation.random_linear_probe()),
                        beside_random(evaluation.knn(), evaluation.random_knn()),
                        fmt::format("{:.2f}/{:.2f}", evaluation.spread(), evaluation.random_spread()));
  } else {
    line += fmt::format(" {:>14} {:>14} {:>12}", "-", "-", "-");
  }
  if (!round.failure().empty()) line += "  nothing changed: " + wire::PeerText(round.failure());
  if (round.failure().empty() && round.declines_size() > 0) {
    const v1::RoundDecline& first = round.declines(0);
    line += fmt::format("  {} declined: {}: {}: {}", round.declined(), wire::PeerText(first.node()),
                        wire::PeerText(first.reason()), wire::PeerText(first.message()));
  }
  if (round.epsilon() > 0) line += fmt::format("  epsilon {:.2f}", round.epsilon());
  return line;
}

bool HasEnded(const v1::Run& run) {
  return run.state() == v1::RUN_STATE_FINISHED || run.state() == v1::RUN_STATE_STOPPED ||
         run.state() == v1::RUN_STATE_FAILED;
}

std::string RollBackText(const v1::Run& run, std::uint32_t round) {
  const std::string name = wire::PeerText(run.name());
  if (HasEnded(run)) {
    return fmt::format("{}: run:{} is the model after round {} now; the run is {} and trains no further",
                       name, name, round, RunStateName(run.state()));
  }
  return fmt::format("{}: goes on from the model after round {}; {}", name, round, RunStateName(run.state()));
}

std::string RunSummary(const v1::Run& run) {
  std::string text = fmt::format("{}: {}, {} of {} rounds", wire::PeerText(run.name()),
                                 RunStateName(run.state()), run.committed_rounds(), run.rounds());
  // A run that waits says in its message how many nodes it needs; one that has ended has none.
  if (run.state() == v1::RUN_STATE_RUNNING || run.state() == v1::RUN_STATE_PAUSED) {
    text += fmt::format(", {} of {} nodes connected", run.connected_nodes(), run.joined_nodes());
  }
  if (run.round() > 0) {
    text +=
        fmt::format(", round {}: {} of {} updates", run.round(), run.accepted_updates(), run.asked_nodes());
  }
  if (!run.message().empty()) text += "; " + wire::PeerText(run.message());
  return text;
}

}  // namespace tributary::cli
