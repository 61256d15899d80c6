// Any bytes as a request of a Report stream or a response of a Watch stream are taken or refused, without a
// crash. A taken message has the lengths that it states and survives conversion back and forth.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/wire/convert.h"
#include "core/wire/hello.h"

namespace tributary::wire {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void ReadRequest(const v1::ReportRequest& request) {
  if (const auto slot = CheckHello(request.hello()); slot.ok()) {
    Require(request.hello().sources_size() > 0 && request.hello().boot_id().size() == 16);
  }
  estimate::TupleFrame frame;
  v1::Frame wire;
  constexpr int kMaxFrames = 1024;  // a session refuses a message with more before it reads one
  for (int i = 0; i < std::min(request.frames_size(), kMaxFrames); ++i) {
    const v1::Frame& sent = request.frames(i);
    for (const FrameLimits limits : {FrameLimits{{1}, 1, 16}, FrameLimits{{2}, 64, 64},
                                     FrameLimits{{3}, 256, 4096}, FrameLimits{{0, 10}, 2, 64}}) {
      if (FrameFromWire(sent, limits, frame).has_value()) continue;
      const std::size_t n = frame.subjects.size();
      Require(n <= limits.max_subjects && frame.means.size() == n * limits.shape.means());
      Require(frame.cholesky.size() == n * limits.shape.cholesky());
      Require(frame.log_probabilities.size() == n * limits.shape.classes);
      FrameToWire(frame, wire);
      Require(!FrameFromWire(wire, limits, frame).has_value() && frame.sequence == sent.sequence());
    }
  }
}

void ReadResponse(const v1::WatchResponse& response) {
  WatchedSlot slot;
  SiteDescription small;
  small.leaves = {"a"};
  for (const absl::StatusOr<SiteDescription>& site :
       {absl::StatusOr<SiteDescription>(small), DescriptionFromWire(response)}) {
    if (!site.ok() || !SlotFromWire(response, *site, slot).ok()) continue;
    Require(slot.consistency.size() == slot.subjects.size());
    Require(slot.contributors.size() == slot.subjects.size() * slot.contributor_words);
    Require(slot.log_probabilities.size() == slot.subjects.size() * site->classes.size());
    Require(slot.means.size() == slot.subjects.size() * slot.shape().means());
  }
}

}  // namespace
}  // namespace tributary::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tributary::v1::ReportRequest request;
  if (request.ParseFromArray(bytes, static_cast<int>(size))) tributary::wire::ReadRequest(request);
  tributary::v1::WatchResponse response;
  if (response.ParseFromArray(bytes, static_cast<int>(size))) tributary::wire::ReadResponse(response);
  return 0;
}
