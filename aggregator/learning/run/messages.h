// Between what the rules work with and messages: an update's header as it travels and is stored, and the
// other documents of the store (store.proto).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/run/update_file.h"
#include "core/parameters/tensor.h"
#include "core/parameters/update_encoding.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// InvalidArgument, naming the field.
absl::StatusOr<SubmissionHeader> HeaderFromWire(const v1::UpdateHeader& wire);

// Without the run and the process that sent it.
v1::UpdateHeader HeaderToWire(const SubmissionHeader& header);

// Nothing if the encoding is not known here.
std::optional<parameters::UpdateEncoding> EncodingFromWire(int encoding);

// Without its accepted updates: those have records of their own.
v1::StoredRun SnapshotToStored(const RunSnapshot& snapshot);
// DataLoss: not what was written.
absl::StatusOr<RunSnapshot> SnapshotFromStored(const v1::StoredRun& stored);

std::string EncodeUpdate(const KeptUpdate& update);
// Without its place. DataLoss: not what was written.
absl::StatusOr<KeptUpdate> DecodeUpdate(std::string_view bytes);

// DataLoss: these are not the bytes of such a message.
template <class Message>
absl::StatusOr<Message> ParseStored(std::string_view bytes, std::string_view what) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  return absl::DataLossError("the store's " + std::string(what) + " cannot be read");
}

}  // namespace tributary::learning
