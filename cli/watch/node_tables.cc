#include "cli/watch/node_tables.h"

#include <fmt/format.h>

#include "absl/strings/str_join.h"
#include "cli/table.h"
#include "core/runtime/elapsed.h"

namespace tributary::cli {

std::string NodesText(const v1::ListNodesResponse& response, std::int64_t now_unix_ns) {
  Table table({Left("SITE"), Left("NODE"), Left("STATE"), Right("LAST FRAME"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Left("MODEL"), Left("SOURCES")});
  for (const v1::Node& node : response.nodes()) {
    if (node.site().empty()) continue;  // it only learns: LearnersText
    const double age_s = runtime::ElapsedSeconds(node.last_frame_unix_ns(), now_unix_ns);
    const std::string last = node.last_frame_unix_ns() == 0 ? "never" : fmt::format("{:.1f} s ago", age_s);
    table.Add(node.site(), node.name(), node.connected() ? "connected" : "away", last, node.accepted_frames(),
              node.refused_frames(), node.dropped_frames(), node.model_name() + " " + node.model_version(),
              absl::StrJoin(node.sources(), ", "));
  }
  return table.Text();
}

std::string LearnersText(const v1::ListNodesResponse& response) {
  Table table({Left("NODE"), Left("LEARNS IN"), Left("STATE"), Right("LAST ROUND"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Left("LAST REFUSAL")});
  for (const v1::Node& node : response.nodes()) {
    for (const v1::Learning& learning : node.learns()) {
      table.Add(node.name(), learning.run().empty() ? "waits for one" : learning.run(),
                learning.connected() ? "connected" : "away", learning.last_round(),
                learning.accepted_updates(), learning.refused_updates(), learning.dropped_rounds(),
                learning.last_refusal());
    }
  }
  return table.empty() ? "" : "\n" + table.Text();
}

}  // namespace tributary::cli
