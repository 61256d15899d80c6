// Fields that several messages have. Errors: InvalidArgument naming the field.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/secure_aggregation.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::wire {

// A name of 1 to 128 bytes without control and hidden characters: it goes into logs and onto terminals.
absl::Status CheckName(std::string_view field, std::string_view name);
// Each is a name, and no two are the same.
using Names = google::protobuf::RepeatedPtrField<std::string>;
absl::Status CheckNames(std::string_view field, const Names& listed);

// 16 bytes.
absl::Status CheckBootId(std::string_view field, std::string_view boot_id);

// A digest or a key.
absl::StatusOr<std::array<std::byte, 32>> Bytes32FromWire(std::string_view field, const std::string& bytes);

// A share of secure aggregation. Checks its digests only.
absl::StatusOr<privacy::SealedShare> ShareFromWire(const v1::EncryptedShare& wire);
void ShareToWire(const privacy::SealedShare& share, v1::EncryptedShare& wire);

}  // namespace tributary::wire
