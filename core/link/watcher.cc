#include "core/link/watcher.h"

#include <grpcpp/client_context.h>

#include <condition_variable>
#include <random>
#include <utility>

#include "core/link/channel.h"
#include "core/link/spool/reconnect.h"
#include "core/runtime/clock.h"
#include "core/status/macros.h"
#include "core/wire/convert.h"
#include "core/wire/kept_room.h"
#include "core/wire/peer.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::link {
namespace {

constexpr std::int64_t kFirstStreamNs = 5'000'000'000;

absl::Status TakeSite(const std::string& name, const v1::WatchResponse& response,
                      wire::SiteDescription& site) {
  ASSIGN_OR_RETURN(site, wire::DescriptionFromWire(response));
  site.name = name;  // an older release does not say it
  return absl::OkStatus();
}

// Reads one stream to its end. Sets `connected` once it is admitted, and says so.
absl::Status ReadStream(v1::FusionService::Stub& stub, const WatchOptions& options,
                        const std::stop_token& stop, const OnSlot& on_slot, const OnLink& on_link,
                        bool& connected) {
  v1::WatchRequest request;
  request.set_site(options.site);
  request.set_max_rate_hz(options.max_rate_hz);
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> reader = stub.Watch(&context, request);

  reader->WaitForInitialMetadata();
  connected = context.GetServerInitialMetadata().contains(wire::kWatchAdmitted);
  if (connected) on_link(absl::OkStatus());
  v1::WatchResponse response;
  wire::KeptRoom room;
  wire::WatchedSlot slot;
  wire::SiteDescription site;
  while (reader->Read(&response)) {
    if (!std::exchange(connected, true)) on_link(absl::OkStatus());
    absl::Status status;
    if (response.leaves_size() > 0) status = TakeSite(options.site, response, site);
    if (status.ok() && !response.has_slot()) continue;  // the site has fused nothing yet
    if (status.ok()) status = wire::SlotFromWire(response, site, slot);
    if (!status.ok()) {
      context.TryCancel();
      reader->Finish();
      return status;
    }
    on_slot(slot, site);
    if (room.IsTooMuchWith(response.ByteSizeLong())) response = v1::WatchResponse();
  }
  return wire::StreamEnd(reader->Finish());
}

}  // namespace

absl::Status WatchSlots(const std::shared_ptr<grpc::Channel>& channel, const WatchOptions& options,
                        std::stop_token stop, const OnSlot& on_slot, const OnLink& on_link) {
  const runtime::SystemClock clock;
  const std::unique_ptr<v1::FusionService::Stub> stub = v1::FusionService::NewStub(channel);
  Reconnect reconnect(std::random_device{}());
  const std::int64_t give_up_ns = clock.SteadyNs() + kFirstStreamNs;
  bool ever_connected = false;
  while (!stop.stop_requested()) {
    bool connected = false;
    const std::int64_t began_ns = clock.SteadyNs();
    const absl::Status status = ReadStream(*stub, options, stop, on_slot, on_link, connected);
    if (stop.stop_requested()) break;
    if (!Reconnect::MayPass(status)) return status;
    if (connected) reconnect.Lasted(clock.SteadyNs() - began_ns);
    ever_connected = ever_connected || connected;
    if (!ever_connected && clock.SteadyNs() >= give_up_ns) return status;
    if (connected) on_link(status);
    clock.SleepFor(reconnect.DelayNs(status), stop);
    if (!stop.stop_requested()) AwaitConnection(*channel);
  }
  return absl::OkStatus();
}

}  // namespace tributary::link
