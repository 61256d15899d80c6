// Any bytes from a peer are refused or accepted, without a crash. The input is a sequence of messages, each
// after its length.
#include <cstddef>
#include <cstdint>
#include <string>

#include "aggregator/server/report_session.h"
#include "core/runtime/metrics.h"
#include "core/wire/hello.h"

namespace tributary::server {
namespace {

v1::ReportRequest Hello(bool classes) {
  v1::ReportRequest request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_site(classes ? "air" : "lab");
  hello.set_node("board");
  hello.set_boot_id(std::string(16, 'b'));
  if (classes) {
    wire::AddClassifier(hello, "north", {"north"}, {"BPSK", "QPSK"}, {});
  } else {
    wire::AddSource(hello, "north", 2, {"north"});
  }
  return request;
}

}  // namespace
}  // namespace tributary::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  using namespace tributary::server;
  runtime::Metrics metrics;
  fusion::SiteConfig config;
  config.name = "lab";
  config.leaves = {"north", "east"};
  config.window_slots = 64;
  config.max_age_ns.reset();
  config.max_lead_ns.reset();
  const runtime::ManualClock clock{0};
  publish::AggregatorState state{clock};
  state.sites.Add(*fusion::FusionEngine::Create(config), "", metrics);
  config.name = "air";
  config.dimension = 0;
  config.classes = {"BPSK", "QPSK"};
  state.sites.Add(*fusion::FusionEngine::Create(config), "", metrics);
  ReportSession session(state, std::nullopt);
  fusion::FusedSlots fused;
  // An even first byte: the peer has sent a valid hello, to one of the sites.
  if (size > 0 && *bytes % 2 == 0) session.Take(Hello((*bytes & 2) != 0), {0, 0}, fused);
  for (std::size_t at = 1; at < size;) {
    const std::size_t length = std::min<std::size_t>(bytes[at], size - at - 1);
    v1::ReportRequest request;
    if (request.ParseFromArray(bytes + at + 1, static_cast<int>(length)) &&
        session.Take(request, {static_cast<std::int64_t>(at), static_cast<std::int64_t>(at)}, fused)) {
      break;
    }
    at += 1 + length;
    v1::ReportResponse response;
    session.TakeAnswer(response);
    fused.Clear();
  }
  return 0;
}
