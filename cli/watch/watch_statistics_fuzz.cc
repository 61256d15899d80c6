// Any bytes as a Watch stream: messages, each after two bytes of its length. What is taken is counted, judged
// and drawn, without a crash and without a control character.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "cli/watch/watch_statistics.h"
#include "core/wire/convert.h"

namespace tributary::cli {
namespace {

// Positions for even subjects, classes for every third of the odd ones.
truth::TrueState AtOrigin(std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot) {
  if (slot.StartNs(epoch) < 0) std::abort();
  if (subject % 2 == 0) return truth::PlanePosition{0.0, 0.0};
  if (subject % 3 == 0) return "BPSK";
  return {};
}

void Draw(const WatchView& view) {
  for (const std::string& line : TableLines(view, AtOrigin)) {
    if (std::ranges::any_of(line, [](unsigned char c) { return absl::ascii_iscntrl(c); })) std::abort();
  }
  if (!nlohmann::json::accept(FiguresLine(view.figures))) std::abort();
}

}  // namespace
}  // namespace tributary::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  using namespace tributary::cli;
  WatchStatistics statistics(AtOrigin);
  WatchView view;
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(bytes[at] | bytes[at + 1] << 8, size - at - 2);
    v1::WatchResponse response;
    const bool parsed = response.ParseFromArray(bytes + at + 2, static_cast<int>(length));
    at += 2 + length;
    if (!parsed) continue;
    if (response.leaves_size() > 0) {
      auto site = wire::DescriptionFromWire(response);
      if (!site.ok()) continue;
      view = {.site = *std::move(site), .note = {}, .slot = {}, .figures = {}};
    }
    if (!wire::SlotFromWire(response, view.site, view.slot).ok()) continue;
    statistics.Add(view.slot, view.site, static_cast<std::int64_t>(at), static_cast<std::int64_t>(at));
    view.figures = statistics.figures();
  }
  Draw(view);
  return 0;
}
