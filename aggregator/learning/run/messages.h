// Checks of what peers send, and the documents of the store (store.proto).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// Nodes of a partial sum.
inline constexpr std::size_t kMaxContributors = 65'536;

// What a node says of its update. InvalidArgument, naming the field. Leaves what the rules and the store use:
// no run, no boot_id, nothing unknown, and numbers that can be shown.
absl::Status CheckMessage(v1::UpdateHeader& header);

// An accepted update out of the store. DataLoss: not what was written.
absl::StatusOr<v1::StoredUpdate> ParseUpdate(std::string_view bytes);

// DataLoss: these are not the bytes of such a message.
template <class Message>
absl::StatusOr<Message> ParseStored(std::string_view bytes, std::string_view what) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  return absl::DataLossError("the store's " + std::string(what) + " cannot be read");
}

}  // namespace tributary::learning
