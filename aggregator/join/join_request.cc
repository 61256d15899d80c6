#include "aggregator/join/join_request.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <string>

namespace tributary::join {

absl::StatusOr<v1::JoinRequest> ParseJoinRequest(std::string_view body) {
  if (body.size() > kMostJoinBytes) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes, at most {} are allowed", body.size(), kMostJoinBytes));
  }
  v1::JoinRequest request;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of a newer board
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(body.data(), body.size()), &request, options);
  if (status.ok()) return request;
  // Its words repeat what the peer sent.
  return absl::InvalidArgumentError("is not the JSON of a JoinRequest");
}

}  // namespace tributary::join
