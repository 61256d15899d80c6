// Whatever a peer sends: a header, a declaration, a decline and chunks are taken or refused, never a crash.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/run/upload.h"
#include "aggregator/learning/service/federation_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  static const std::string folder = [] {
    char name[] = "/tmp/federation_wire_fuzz.XXXXXX";
    return std::string(mkdtemp(name));
  }();
  v1::ParticipateRequest participate;
  if (participate.ParseFromArray(data, static_cast<int>(size))) {
    learning::CheckMessage(participate).IgnoreError();
  }
  v1::DeclineTaskRequest decline;
  if (decline.ParseFromArray(data, static_cast<int>(size))) {
    const absl::Status declined = learning::CheckMessage(decline);
    // Each byte of a peer's text is four at most once it is escaped.
    constexpr std::size_t kMostBytes = 4 * 240;
    if (declined.ok() && decline.message().size() > kMostBytes) __builtin_trap();
  }
  v1::SubmitUpdateRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  v1::UpdateHeader& header = *request.mutable_header();
  // What a run would refuse before it allocates.
  if (!learning::CheckMessage(header).ok()) return 0;
  if (header.element_count() == 0 || header.element_count() > (1 << 20)) return 0;
  learning::Upload upload(header, {8.0f, true},
                          [] { return store::DurableFile::Create(folder, "update", {}); });
  if (!upload.Take(request.chunk())) (void)upload.Finish();
  return 0;
}
