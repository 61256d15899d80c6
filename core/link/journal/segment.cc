#include "core/link/journal/segment.h"

#include <algorithm>

#include "core/parameters/crc32c.h"

namespace tributary::link {
namespace {

constexpr std::string_view kMagic = "TRIBSEGM";
constexpr std::uint32_t kVersion = 1;

void AppendNumber(std::uint32_t number, std::string& bytes) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(number >> shift & 0xff));
}

std::uint32_t NumberAt(std::string_view bytes, std::size_t offset) {
  std::uint32_t number = 0;
  for (int i = 3; i >= 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[offset + static_cast<std::size_t>(i)]);
  }
  return number;
}

std::string_view View(const JournalIdentity& identity) { return {identity.data(), identity.size()}; }

// The checksum of a record.
std::uint32_t ChecksumOf(std::string_view length_and_units, std::string_view payload) {
  return parameters::Crc32c(payload, parameters::Crc32c(length_and_units));
}

// The beginning of a header, then nothing or zeros: the power went while it was written.
bool IsTornHeader(std::string_view bytes, const JournalIdentity& identity) {
  const std::string header = SegmentHeader(identity);
  const auto differs = std::mismatch(bytes.begin(), bytes.end(), header.begin(), header.end());
  if (differs.second == header.end()) return false;
  return std::all_of(differs.first, bytes.end(), [](char byte) { return byte == 0; });
}

}  // namespace

std::string SegmentHeader(const JournalIdentity& identity) {
  std::string bytes(kMagic);
  AppendNumber(kVersion, bytes);
  AppendNumber(parameters::Crc32c(View(identity)), bytes);
  bytes.append(View(identity));
  return bytes;
}

void AppendRecord(const Record& record, std::string& bytes) {
  const std::size_t start = bytes.size();
  AppendNumber(static_cast<std::uint32_t>(record.payload.size()), bytes);
  AppendNumber(record.units, bytes);
  AppendNumber(ChecksumOf(std::string_view(bytes).substr(start, 8), record.payload), bytes);
  bytes.append(record.payload);
}

std::optional<JournalIdentity> IdentityOfSegment(std::string_view bytes) {
  JournalIdentity identity;
  if (bytes.size() < kSegmentHeaderBytes) return std::nullopt;
  std::ranges::copy(bytes.substr(16, identity.size()), identity.begin());
  if (!bytes.starts_with(SegmentHeader(identity))) return std::nullopt;
  return identity;
}

SegmentContent ReadSegment(std::string_view bytes, const JournalIdentity& identity) {
  SegmentContent content;
  if (IsTornHeader(bytes, identity)) {
    content.state = SegmentState::kTorn;
    return content;
  }
  if (bytes.size() < kSegmentHeaderBytes || !bytes.starts_with(kMagic)) return content;
  content.version = NumberAt(bytes, 8);
  if (content.version != kVersion) {
    content.state = SegmentState::kOtherVersion;
    return content;
  }
  const std::string_view owner = bytes.substr(16, identity.size());
  if (NumberAt(bytes, 12) != parameters::Crc32c(owner)) return content;
  if (owner != View(identity)) {
    content.state = SegmentState::kOtherIdentity;
    return content;
  }
  content.sound_bytes = kSegmentHeaderBytes;
  while (bytes.size() - content.sound_bytes >= kRecordHeaderBytes) {
    const std::string_view rest = bytes.substr(content.sound_bytes);
    const std::size_t length = NumberAt(rest, 0);
    if (length == 0 || length > kMostRecordBytes || length > rest.size() - kRecordHeaderBytes) break;
    const std::string_view payload = rest.substr(kRecordHeaderBytes, length);
    if (NumberAt(rest, 8) != ChecksumOf(rest.substr(0, 8), payload)) break;
    content.records.push_back({payload, NumberAt(rest, 4)});
    content.sound_bytes += kRecordHeaderBytes + length;
  }
  content.state = content.sound_bytes == bytes.size() ? SegmentState::kSound : SegmentState::kTorn;
  return content;
}

}  // namespace tributary::link
