// Views of runs as messages of run.proto.
#pragma once

#include <cstddef>
#include <string>

#include "aggregator/learning/run/run_view.h"
#include "tributary/v1/run.pb.h"

namespace tributary {

v1::Run RunToWire(const RunView& view, bool with_config);
// Bytes of rounds in one message: a reader of gRPC takes 4 MiB unless told otherwise.
inline constexpr std::size_t kMaxHistoryBytes = std::size_t{2} << 20;
v1::Round RoundToWire(const RoundLine& line);
v1::Participant ParticipantToWire(const ParticipantStatus& status);
v1::Model ModelToWire(const std::string& run, const ModelRecord& record, bool current);

}  // namespace tributary
