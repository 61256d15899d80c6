// Views of runs as messages of run.proto.
#pragma once

#include <string>

#include "aggregator/rounds/run_view.h"
#include "tributary/v1/run.pb.h"

namespace tributary {

v1::Run RunToWire(const RunView& view, bool with_config);
v1::Round RoundToWire(const RoundLine& line);
v1::Participant ParticipantToWire(const ParticipantStatus& status);
v1::Model ModelToWire(const std::string& run, const ModelRecord& record, bool current);

}  // namespace tributary
