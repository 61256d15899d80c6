// A node's final account of every frame and tuple.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/link/uplink.h"
#include "node/learner/learner.h"
#include "node/panel/board_fusion.h"
#include "node/panel/panel.h"

namespace tributary::node {

// One line of JSON. From the panels: frames (of the sources), tuples (offered), missed_frames,
// unusable_tuples, failed_frames, restarts, latency_us {p50, p99} from capture to offer. From the uplink:
// sent_frames (repetitions included), acknowledged_*, dropped_*, refused_* by reason, resent_duplicate_*
// (repetitions that had arrived before: not lost), connections. tuples = acknowledged_tuples +
// dropped_tuples; lost_tuples = dropped + refused. With `fusion` (nullptr: none) also its counters:
// fusion.tuples replace the panels' tuples in that sum, and the panels' latency ends at the fusion. If a
// panel takes datagrams, `udp` has datagrams (received), unused_datagrams, the same by reason, lost_subjects,
// lost_slots, kernel_drops. With `learner` (nullptr: none) also the results of its rounds.
std::string SummaryLine(const std::string& node, const std::string& site,
                        const std::vector<std::unique_ptr<panel::Panel>>& panels,
                        const panel::BoardFusion* fusion, const link::UplinkCounters& uplink,
                        const learner::Learner* learner);

}  // namespace tributary::node
