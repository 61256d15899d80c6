// The bytes of one segment of a journal: a header, then records.
//
//   header   magic "TRIBSEGM", version (u32), CRC-32C of the identity (u32), identity (32 bytes)
//   record   length of the payload (u32), units (u32), CRC-32C of both and of the payload (u32), payload
//
// Numbers are little-endian. Pure: no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::link {

// Whose records a segment has: a digest of the sender's declaration.
using JournalIdentity = std::array<char, 32>;

inline constexpr std::size_t kSegmentHeaderBytes = 48;
inline constexpr std::size_t kRecordHeaderBytes = 12;
// A longer record is damage: no frame has it.
inline constexpr std::size_t kMostRecordBytes = std::size_t{16} << 20;

struct Record {
  std::string_view payload;
  std::uint32_t units = 0;  // what the caller counts in it, such as tuples
};

std::string SegmentHeader(const JournalIdentity& identity);
// Payload: 1 to kMostRecordBytes bytes.
void AppendRecord(const Record& record, std::string& bytes);

enum class SegmentState {
  kSound,
  kTorn,           // `sound_bytes` are good; a record after them, or the header, is cut or damaged
  kNoHeader,       // not a segment
  kOtherVersion,   // of another release
  kOtherIdentity,  // written for another declaration
};

struct SegmentContent {
  SegmentState state = SegmentState::kNoHeader;
  std::uint32_t version = 0;
  std::size_t sound_bytes = 0;
  std::vector<Record> records = {};  // views into the bytes; empty unless sound or torn
};

// Whose records a segment of this release has, for who copies it without knowing the declaration; nothing if
// it is none.
std::optional<JournalIdentity> IdentityOfSegment(std::string_view bytes);

// Trusts nothing in `bytes`: each record's checksum is compared before it counts.
SegmentContent ReadSegment(std::string_view bytes, const JournalIdentity& identity);

}  // namespace tributary::link
