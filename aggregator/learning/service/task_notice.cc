#include "aggregator/learning/service/task_notice.h"

#include <algorithm>

namespace tributary {

TaskNotice NoticeOf(const RunState& state, const std::string& node, const NodeTask& task) {
  const RunConfig& config = state.config();
  TaskNotice notice;
  notice.run = config.name;
  notice.task = task;
  notice.committed = state.committed();
  notice.model = state.model();
  if (const auto& open = state.open_round()) {
    const auto asked = std::ranges::find(open->asked, node, &AskedNode::node);
    if (asked != open->asked.end()) notice.max_sample_count = asked->sample_count;
    notice.fixed_point = open->fixed_point;
  }
  notice.max_element = config.max_element;
  notice.uniform_weight = config.weighting == UpdateWeighting::kUniform;
  notice.clip_norm = config.clip_norm;
  notice.schedule_steps =
      config.client.schedule ? std::uint64_t{config.rounds} * config.client.local_steps : 0;
  notice.settings = config.client;
  return notice;
}

}  // namespace tributary
