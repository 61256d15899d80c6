#include "cli/run/run_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "cli/table.h"
#include "core/learning/round_verdict.h"
#include "core/runtime/elapsed.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

constexpr double kPercent = 100;
constexpr std::size_t kMostNote = 1'000;  // of a failed round, which quotes a node's own words

const Table& RoundTable() {
  static const Table table({Right("ROUND", 6), Right("UPDATES", 8), Right("REFUSED"), Right("SECONDS"),
                            Right("LOSS", 8), Right("SPREAD", 8), Right("RECEIVED", 9),
                            Right("PROBE/RANDOM %"), Right("KNN/RANDOM %", 14), Right("TEST SPREAD", 12),
                            Left("NOTE")});
  return table;
}

// The first that has not ended and takes any node; null: there is none.
const v1::Run* FirstRun(const v1::ListRunsResponse& runs) {
  const auto open = [](const v1::Run& run) { return !HasEnded(run) && run.named_nodes() == 0; };
  const auto first = std::ranges::find_if(runs.runs(), open);
  return first == runs.runs().end() ? nullptr : &*first;
}

std::string BehindText(const v1::Run& first, const v1::Run& run) {
  if (run.state() != v1::RUN_STATE_WAITING || first.name() == run.name() || first.connected_nodes() == 0) {
    return "";
  }
  return fmt::format("; nodes that name no run take part in \"{}\" until it ends",
                     wire::PeerText(first.name()));
}

// The runs that `tributary run split` has started for clusters of the run under names that it gives by
// itself.
std::string SplitInto(const v1::Run& run, int clusters, const v1::ListRunsResponse& runs) {
  std::vector<std::string> names;
  for (int number = 1; number <= clusters; ++number) {
    const std::string name = fmt::format("{}-{}", run.name(), number);
    const auto is_it = [&name](const v1::Run& each) { return each.name() == name && each.named_nodes() > 0; };
    if (std::ranges::any_of(runs.runs(), is_it)) names.push_back(wire::PeerText(name));
  }
  return absl::StrJoin(names, ", ");
}

// What can be done with the clusters. Who stopped the run has no use for them, or has split it under other
// names.
std::string WhatNext(const v1::Run& run, int clusters, const v1::ListRunsResponse& runs) {
  const std::string split = SplitInto(run, clusters, runs);
  if (!split.empty()) return fmt::format(" (split into {})", split);
  if (run.state() == v1::RUN_STATE_STOPPED) return "";
  return fmt::format(" (tributary run split {})", wire::PeerText(run.name()));
}

std::string SizeText(std::uint64_t bytes) {
  constexpr std::uint64_t kSmall = 1'000'000;
  const auto size = static_cast<double>(bytes);
  return bytes < kSmall ? fmt::format("{:.1f} kB", 1e-3 * size) : fmt::format("{:.1f} MB", 1e-6 * size);
}

}  // namespace

std::string ParticipantState(const v1::Run& run, const v1::Participant& participant) {
  if (HasEnded(run)) return "done";
  if (!participant.connected()) return "away";
  return participant.cannot_train().empty() ? "connected" : "cannot train";
}

std::string RoundHeading() { return RoundTable().Heading(); }

std::string RoundLineText(const v1::Round& round) {
  if (round.rolled_back()) return fmt::format("{:>6} back to the model after this round", round.round());
  const double seconds = runtime::ElapsedSeconds(round.started_unix_ns(), round.ended_unix_ns());
  // Where no update was taken there is nothing to tell of.
  const bool learned = round.accepted() > 0;
  std::string probe = "-", knn = "-", test_spread = "-";
  if (round.has_evaluation()) {
    const v1::Evaluation& evaluation = round.evaluation();
    const auto beside_random = [](double value, double random) {
      return fmt::format("{:.1f}/{:.1f}", kPercent * value, kPercent * random);
    };
    probe = beside_random(evaluation.linear_probe(), evaluation.random_linear_probe());
    knn = beside_random(evaluation.knn(), evaluation.random_knn());
    test_spread = fmt::format("{:.2f}/{:.2f}", evaluation.spread(), evaluation.random_spread());
  }
  std::string line =
      RoundTable().Row(round.round(), fmt::format("{}/{}", round.accepted(), round.asked()), round.refused(),
                       fmt::format("{:.1f}", seconds), learned ? fmt::format("{:.4f}", round.loss()) : "-",
                       round.has_spread() ? fmt::format("{:.2f}", round.spread()) : "-",
                       SizeText(round.received_bytes()), probe, knn, test_spread);
  if (round.has_held_out_accuracy()) {
    line += fmt::format("  held out {:.1f} %", kPercent * round.held_out_accuracy());
  }
  const std::string verdict = learning::VerdictText(round);
  if (!verdict.empty()) line += "  " + verdict;
  if (!round.failure().empty()) line += "  nothing changed: " + wire::PeerText(round.failure(), kMostNote);
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
                       name, name, round, wire::EnumLabel(run.state()));
  }
  return fmt::format("{}: goes on from the model after round {}; {}", name, round,
                     wire::EnumLabel(run.state()));
}

std::string RunSummary(const v1::Run& run) {
  std::string text = fmt::format("{}: {}, {} of {} rounds", wire::PeerText(run.name()),
                                 wire::EnumLabel(run.state()), run.committed_rounds(), run.rounds());
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

std::string WaitsBehind(const v1::ListRunsResponse& runs, const v1::Run& run) {
  const auto first = FirstRun(runs);
  return first == nullptr ? "" : BehindText(*first, run);
}

std::string RunsText(const v1::ListRunsResponse& response) {
  const v1::Run* first = FirstRun(response);
  Table table({Left("RUN"), Left("STATE"), Left("STRATEGY"), Right("ROUNDS"), Right("NODES"),
               Right("PARAMETERS"), Left("MESSAGE")});
  for (const v1::Run& run : response.runs()) {
    table.Add(run.name(), wire::EnumLabel(run.state()), run.strategy(),
              fmt::format("{}/{}", run.committed_rounds(), run.rounds()),
              fmt::format("{}/{}", run.connected_nodes(), run.joined_nodes()), run.element_count(),
              run.message() + (first == nullptr ? "" : BehindText(*first, run)));
  }
  return table.Text();
}

std::string NamesText(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) {
    const bool one_word = name.find_first_of(", ") == std::string::npos;
    out->append(one_word ? wire::PeerText(name) : fmt::format("\"{}\"", wire::PeerText(name)));
  });
}

std::string ClustersText(const v1::GetRunResponse& response, const v1::ListRunsResponse& runs) {
  if (!response.has_clusters()) return "";
  const v1::Clusters& found = response.clusters();
  if (found.clusters().empty()) return fmt::format("no clusters: {}\n", wire::PeerText(found.message()));
  std::string text =
      fmt::format("{} clusters after round {}, agreement {:.2f}{}\n", found.clusters_size(), found.round(),
                  found.agreement(), WhatNext(response.run(), found.clusters_size(), runs));
  int number = 0;
  for (const v1::Cluster& each : found.clusters()) {
    text += fmt::format("  {}: {}\n", ++number, NamesText(each.nodes()));
  }
  if (!found.alone().empty()) {
    text += fmt::format("  alone: {}\n", NamesText(found.alone()));
  }
  if (found.missing_since() > 0) {
    text += fmt::format("  not found again since round {}: {}\n", found.missing_since(),
                        wire::PeerText(found.message()));
  }
  return text;
}

std::string ClusterNews(std::uint32_t before, const v1::Run& run) {
  if (run.clusters() == before) return "";
  return fmt::format("{} clusters of nodes were found; who is in which: tributary run show {}\n",
                     run.clusters(), wire::PeerText(run.name()));
}

bool IsPauseNews(v1::RunState before, const v1::Run& run) {
  if (run.state() == before || HasEnded(run)) return false;
  return run.state() == v1::RUN_STATE_PAUSED || before == v1::RUN_STATE_PAUSED;
}

std::string RunText(const v1::GetRunResponse& response, const v1::ListRunsResponse& runs) {
  Table table({Left("NODE"), Left("STATE"), Right("SAMPLES"), Right("LAST ROUND"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Right("DECLINED"), Left("LAST REFUSAL")});
  for (const v1::Participant& each : response.participants()) {
    table.Add(each.node(), ParticipantState(response.run(), each), each.sample_count(), each.last_round(),
              each.accepted_updates(), each.refused_updates(), each.dropped_rounds(), each.declined_tasks(),
              each.last_refusal());
  }
  std::string text =
      fmt::format("{}{}\nmodel {}\n{}\n{}\n{}\n", RunSummary(response.run()),
                  WaitsBehind(runs, response.run()), absl::BytesToHexString(response.run().model_sha256()),
                  ClustersText(response, runs), table.Text(), RoundHeading());
  const auto shown = std::min(static_cast<std::size_t>(response.history_size()), Table::kMaxRows);
  for (std::size_t i = 0; i < shown; ++i) {
    text += RoundLineText(response.history(static_cast<int>(i))) + "\n";
  }
  const std::size_t more = static_cast<std::size_t>(response.history_size()) - shown;
  if (more > 0) text += fmt::format("{} more\n", more);
  return text;
}

std::string ModelsText(const v1::ListModelsResponse& response, std::int64_t now_unix_ns) {
  Table table({Left("RUN"), Right("ROUND"), Left(""), Right("PARAMETERS"), Right("SIZE"), Right("AGE"),
               Left("SHA-256")});
  for (const v1::Model& model : response.models()) {
    const double age_s = runtime::ElapsedSeconds(model.created_unix_ns(), now_unix_ns);
    table.Add(model.run(), model.round(), model.current() ? "now" : "", model.element_count(),
              SizeText(model.file_bytes()), fmt::format("{:.0f} s", age_s),
              absl::BytesToHexString(model.sha256()).substr(0, 16));
  }
  return table.Text();
}

}  // namespace tributary::cli
