// ReadSegment on bytes from a disk: what it accepts is what was written, byte for byte.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/link/journal/segment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::link;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const JournalIdentity identity = {};
  const SegmentContent content = ReadSegment(bytes, identity);
  if (content.sound_bytes > size) abort();
  if (content.state != SegmentState::kSound && content.state != SegmentState::kTorn) {
    if (!content.records.empty()) abort();
    return 0;
  }
  if (content.sound_bytes == 0) return 0;  // a torn header
  std::string again = SegmentHeader(identity);
  for (const Record& record : content.records) AppendRecord(record, again);
  if (again != bytes.substr(0, content.sound_bytes)) abort();
  return 0;
}
