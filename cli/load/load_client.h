// Drives an aggregator like N panels, and watches what it makes of them.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "cli/load/load_message.h"
#include "cli/load/load_pace.h"
#include "core/estimate/slot_length.h"
#include "core/link/spool/reconnect.h"
#include "core/runtime/clock.h"
#include "core/runtime/latency.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::cli {

struct LoadPlan {
  ConnectionArguments connection;
  std::string site = "load";
  // Sources "panel-0", "panel-1" …, each a node with a connection of its own. With TLS a certificate names
  // one node: it reports all panels, on one connection.
  std::uint32_t panels = 4;
  std::uint32_t users = 16;
  std::size_t frames_per_message = 1;
  estimate::SlotLength slot;  // what the site's epochs count
  double rate_hz = 2000;      // of slots; 0: as fast as acknowledgements permit
  double watch_rate_hz = 0;
};

// Every frame that was sent is in acknowledged (of which some are refused) or was lost; every slot that was
// sent is in received or skipped, or was lost.
struct LoadCounts {
  double sending_s = 0;
  std::uint64_t slots_sent = 0;
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_acknowledged = 0;
  std::uint64_t frames_refused = 0;
  std::uint64_t slots_received = 0;
  std::uint64_t slots_incomplete = 0;  // of the received: without some panel
  std::uint64_t slots_skipped = 0;     // as the aggregator says
  std::uint64_t slots_unsent = 0;      // due while there was no connection
  std::uint64_t reconnections = 0;
  std::string first_refusal;
};

// One thread drives all streams: it writes, reads acknowledgements and receives slots. Each panel has a TCP
// connection of its own, the watcher another.
class LoadClient {
 public:
  // Connects, says hello on every stream and starts to watch. Returns once the aggregator has admitted all of
  // them. Errors: those of LoadClientTls and FromPeer.
  static absl::StatusOr<std::unique_ptr<LoadClient>> Connect(const LoadPlan& plan);
  ~LoadClient();

  // Sends for the given time or until stop is requested, then waits until all is acknowledged and received,
  // at most two seconds. Appends to `latency`: from the stamp of a slot, taken before its first frame is
  // written, to its receipt by the watcher. Where a stream breaks, pauses, opens all of them again until the
  // time is over, and goes on; what was under way is lost. Errors: Unavailable if nobody is there at the end;
  // at once what the aggregator says if another attempt would be refused, too (link::Reconnect::MayPass). The
  // counts are right after an error, too. After Unavailable, a further run begins with opening the streams.
  absl::Status Run(std::chrono::nanoseconds duration, std::stop_token stop,
                   runtime::LatencyHistogram& latency);

  const LoadCounts& counts() const { return counts_; }
  std::size_t message_bytes() const;

 private:
  // The queue gives its address back as the tag.
  struct Event {
    std::size_t stream;  // index; the watcher is the last
  };

  struct Connection {
    std::unique_ptr<grpc::GenericStub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    std::optional<grpc::Status> status;  // asked for once the stream has failed
    grpc::ByteBuffer incoming;
    Event written, read, admitted, ended;
    bool writing = false;
    std::deque<grpc::ByteBuffer> waiting;  // behind the write that is under way
    std::uint64_t messages = 0;
    std::uint64_t acknowledged = 0;  // sequence

    explicit Connection(std::size_t index) : written{index}, read{index}, admitted{index}, ended{index} {}
  };

  LoadClient(const LoadPlan& plan, std::optional<config::TlsMaterial> tls);

  bool flat_out() const { return plan_.rate_hz == 0; }
  std::size_t watcher() const { return streams_; }

  // Opens all streams together. An error is the first one that the peer gives.
  absl::Status Open(std::int64_t patience_ns);
  void Close();
  // After a stream failed: asks for its status, which then comes as the event `ended`.
  static void AskWhy(Connection& connection);
  absl::Status EndOf(const Connection& connection) const;
  // After a stream broke: counts what it took with it, and opens all anew before the time is over, unless the
  // aggregator refuses. Returns whether the run can go on.
  bool Reopen();
  Connection& Start(const char* method);
  v1::ReportRequest Greeting(std::size_t stream) const;
  // Handles one event or returns false at the deadline.
  bool Step(gpr_timespec deadline);
  void OnAcknowledged(Connection& connection);
  void OnSlot(Connection& connection);

  bool TimeIsOver() const;
  void RunFlatOut();
  void RunPaced();
  void SendDueSlots();
  void SendFlatOut(std::size_t stream);
  void Send(std::size_t panel);
  void WriteNext(Connection& connection);
  bool SlotIsOut() const;
  bool AllAnswered() const;

  const LoadPlan plan_;
  const std::optional<config::TlsMaterial> tls_;
  const std::size_t streams_;
  const std::size_t panels_per_stream_;
  const runtime::SystemClock clock_;
  std::vector<LoadMessage> messages_;
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::vector<std::unique_ptr<Connection>> connections_;
  v1::ReportResponse response_;
  v1::WatchResponse watched_;
  LoadCounts counts_;
  // Nobody waits for these any more: they were under way when a stream broke.
  std::uint64_t frames_given_up_ = 0, slots_given_up_ = 0;
  runtime::LatencyHistogram* latency_ = nullptr;
  absl::Status broken_;
  link::Reconnect reconnect_;
  std::int64_t opened_ns_ = 0;  // steady

  bool sending_ = false;
  std::stop_token stop_;
  std::int64_t end_ns_ = 0;  // of the run, steady
  LoadPace pace_;
  std::uint64_t next_slot_ = 0;         // of those that are paced, overall
  estimate::Epoch flat_out_epoch_ = 0;  // of the first message of each stream
};

}  // namespace tributary::cli
