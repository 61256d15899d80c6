// What the log says of nodes that come and go.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <optional>
#include <string>

#include "aggregator/learning/service/coordinator.h"

namespace tributary {

void Coordinator::SayThatItCame(const Participant& participant) {
  const auto more = node_lines_.Admit(clock_.SteadyNs());
  if (!more) return;
  const NodeDeclaration& node = participant.declaration;
  spdlog::info("node \"{}\" takes part with {} samples, {}{}", node.node, node.sample_count,
               participant.joined ? fmt::format("in run {}", participant.run) : "and waits for a run", *more);
}

void Coordinator::SayThatItLeft(const Participant& participant) {
  const std::int64_t now_ns = clock_.SteadyNs();
  const auto more = node_lines_.Admit(now_ns);
  if (!more) return;
  spdlog::info("node \"{}\" takes no more part{} after {:.1f} s: its stream of tasks ended{}",
               participant.declaration.node,
               participant.joined ? fmt::format(" in run {}", participant.run) : "",
               1e-9 * static_cast<double>(now_ns - participant.since_ns), *more);
}

}  // namespace tributary
