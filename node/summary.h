// A node's account at its end: what became of every frame and tuple.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/link/uplink.h"
#include "node/learner/learner.h"
#include "node/panel/board_fusion.h"
#include "node/panel/panel.h"

namespace tributary::node {

// One line of JSON. Of the panels: frames (that the sources gave), tuples (offered), missed_frames,
// unusable_tuples, failed_frames, restarts, latency_us {p50, p99} from capture to offer. Of the uplink:
// sent_frames (repetitions included), acknowledged_*, dropped_*, refused_* by reason, resent_duplicate_*
// (repetitions that had arrived before: not lost), connections. tuples = acknowledged_tuples +
// dropped_tuples; lost_tuples = dropped + refused. With `fusion` (nullptr: none) also its counters, and
// fusion.tuples take the place of the panels' tuples in that sum; the panels' latency ends where it begins.
// Where a panel takes datagrams, `udp` has what became of them: datagrams (received), unused_datagrams, the
// same by reason, lost_subjects, lost_slots, kernel_drops.
// With `learner` (nullptr: none) what became of its rounds.
std::string SummaryLine(const std::string& node, const std::string& site,
                        const std::vector<std::unique_ptr<panel::Panel>>& panels,
                        const panel::BoardFusion* fusion, const link::UplinkCounters& uplink,
                        const learner::Learner* learner);

}  // namespace tributary::node
