#include "aggregator/publish/fleet_wire.h"

namespace tributary::publish {

v1::Node NodeToWire(const KnownNode& known) {
  const NodeStatus& status = known.report;
  v1::Node node;
  node.set_site(status.process.site);
  node.set_name(status.process.node);
  node.set_connected(status.connected);
  node.set_last_frame_unix_ns(status.last_frame_unix_ns);
  node.set_accepted_frames(status.accepted_frames);
  node.set_refused_frames(status.refused_frames);
  node.set_dropped_frames(status.dropped_frames);
  for (const wire::ReportingSource& source : status.process.sources) node.add_sources(source.name);
  node.set_model_name(status.process.model.name);
  node.set_model_version(status.process.model.version);
  node.set_model_sha256(status.process.model.sha256);
  for (const LearningStatus& each : known.learns) {
    v1::Learning& learning = *node.add_learns();
    learning.set_run(each.run);
    learning.set_connected(each.connected);
    learning.set_sample_count(each.sample_count);
    learning.set_last_round(each.last_round);
    learning.set_accepted_updates(each.accepted_updates);
    learning.set_refused_updates(each.refused_updates);
    learning.set_dropped_rounds(each.dropped_rounds);
    learning.set_last_refusal(each.last_refusal);
  }
  return node;
}

}  // namespace tributary::publish
