#include "cli/load/load_client.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include "core/runtime/elapsed.h"
#include "core/status/macros.h"
#include "core/wire/convert.h"
#include "core/wire/hello.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

constexpr std::int64_t kConnectNs = 5'000'000'000;
constexpr std::int64_t kDrainNs = 2'000'000'000;
constexpr std::int64_t kStopMs = 100;  // how often a connecting client looks whether to stop
// Flat out: messages in flight per panel, and by how many one panel may be ahead of another, which bounds the
// slots that the aggregator has open.
constexpr std::uint64_t kMaxInFlight = 16;
constexpr std::uint64_t kMaxAhead = 4;

template <typename Message>
grpc::ByteBuffer Encode(const Message& message) {
  grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

template <typename Message>
bool Decode(grpc::ByteBuffer& bytes, Message& message) {
  grpc::ProtoBufferReader reader(&bytes);
  return message.ParseFromZeroCopyStream(&reader);
}

gpr_timespec Within(std::int64_t ms) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

}  // namespace

LoadClient::LoadClient(const LoadPlan& plan, std::optional<config::TlsMaterial> tls)
    : plan_(plan),
      tls_(std::move(tls)),
      streams_(tls_ ? 1 : plan.panels),
      panels_per_stream_(plan.panels / streams_),
      reconnect_(std::random_device{}()),
      pace_(plan.rate_hz, plan.slot) {
  for (std::uint32_t i = 0; i < plan.panels; ++i) {
    messages_.emplace_back(i, i % panels_per_stream_, plan.users, plan.frames_per_message);
  }
}

absl::StatusOr<std::unique_ptr<LoadClient>> LoadClient::Connect(const LoadPlan& plan) {
  ASSIGN_OR_RETURN(std::optional<config::TlsMaterial> tls, LoadClientTls(plan.connection.tls));
  std::unique_ptr<LoadClient> client(new LoadClient(plan, std::move(tls)));
  RETURN_IF_ERROR(client->Open(kConnectNs));
  return client;
}

LoadClient::~LoadClient() { Close(); }

void LoadClient::Close() {
  if (queue_ == nullptr) return;
  for (auto& connection : connections_) connection->context.TryCancel();
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
  connections_.clear();
  queue_.reset();
}

LoadClient::Connection& LoadClient::Start(const char* method) {
  Connection& connection = *connections_.emplace_back(std::make_unique<Connection>(connections_.size()));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a TCP connection for each
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_MINIMAL_STACK, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (tls_) credentials = grpc::SslCredentials({tls_->ca_pem, tls_->key_pem, tls_->certificate_pem});
  connection.stub = std::make_unique<grpc::GenericStub>(
      grpc::CreateCustomChannel(plan_.connection.aggregator, credentials, arguments));
  connection.context.set_initial_metadata_corked(true);  // it goes out with the first message
  connection.stream = connection.stub->PrepareCall(&connection.context, method, queue_.get());
  connection.stream->StartCall(nullptr);
  return connection;
}

absl::Status LoadClient::Open(std::int64_t patience_ns) {
  queue_ = std::make_unique<grpc::CompletionQueue>();
  for (std::size_t i = 0; i < streams_; ++i) {
    Connection& panel = Start("/tributary.v1.FusionService/Report");
    panel.stream->Write(Encode(Greeting(i)), &panel.written);
    panel.stream->Read(&panel.incoming, &panel.read);
  }
  Connection& watch = Start("/tributary.v1.FusionService/Watch");
  v1::WatchRequest request;
  request.set_site(plan_.site);
  request.set_max_rate_hz(plan_.watch_rate_hz);
  watch.stream->WriteLast(Encode(request), grpc::WriteOptions(), &watch.written);
  watch.stream->ReadInitialMetadata(&watch.admitted);

  const std::int64_t deadline_ns = clock_.SteadyNs() + patience_ns;
  for (std::size_t awaited = 2 * streams_ + 2; awaited > 0;) {
    void* tag = nullptr;
    bool ok = true;
    if (queue_->AsyncNext(&tag, &ok, Within(kStopMs)) != grpc::CompletionQueue::GOT_EVENT) {
      if (clock_.SteadyNs() < deadline_ns && !stop_.stop_requested()) continue;
      return FromPeer(absl::UnavailableError(
                          fmt::format("no answer within {:.1f} s", 1e-9 * static_cast<double>(patience_ns))),
                      plan_.connection);
    }
    const auto* event = static_cast<const Event*>(tag);
    Connection& connection = *connections_[event->stream];
    if (event == &connection.ended) return EndOf(connection);
    const bool refused = event == &connection.admitted &&
                         !connection.context.GetServerInitialMetadata().contains(wire::kWatchAdmitted);
    if (ok && !refused) {
      --awaited;
    } else {
      AskWhy(connection);
    }
  }
  for (const auto& each : connections_) each->stream->Read(&each->incoming, &each->read);
  opened_ns_ = clock_.SteadyNs();
  return absl::OkStatus();
}

void LoadClient::AskWhy(Connection& connection) {
  if (!connection.status) connection.stream->Finish(&connection.status.emplace(), &connection.ended);
}

absl::Status LoadClient::EndOf(const Connection& connection) const {
  return FromPeer(wire::StreamEnd(*connection.status), plan_.connection);
}

std::size_t LoadClient::message_bytes() const { return messages_.front().bytes().size(); }

v1::ReportRequest LoadClient::Greeting(std::size_t stream) const {
  v1::ReportRequest request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_site(plan_.site);
  hello.set_slot_ns(static_cast<std::uint64_t>(plan_.slot.ns()));
  hello.set_boot_id(wire::NewBootId());
  for (std::size_t i = 0; i < panels_per_stream_; ++i) {
    const std::string panel = fmt::format("panel-{}", stream * panels_per_stream_ + i);
    wire::AddSource(hello, panel, 2, {panel});
  }
  hello.set_node(tls_ ? tls_->name : hello.sources(0).name());
  return request;
}

absl::Status LoadClient::Run(std::chrono::nanoseconds duration, std::stop_token stop,
                             runtime::LatencyHistogram& latency) {
  latency_ = &latency;
  stop_ = std::move(stop);
  sending_ = true;
  const std::int64_t unix_ns = clock_.UnixNs();
  const std::int64_t start_ns = clock_.SteadyNs();
  end_ns_ = start_ns + duration.count();
  pace_.Begin(unix_ns, start_ns, duration.count());
  while (broken_.ok() || Reopen()) {
    flat_out() ? RunFlatOut() : RunPaced();
    if (broken_.ok()) break;
  }
  sending_ = false;
  const std::int64_t stopped_ns = clock_.SteadyNs();
  counts_.sending_s += 1e-9 * static_cast<double>(stopped_ns - start_ns);
  if (!broken_.ok() && !flat_out()) counts_.slots_unsent += pace_.Skip(stopped_ns);
  while (!AllAnswered() && clock_.SteadyNs() < stopped_ns + kDrainNs && broken_.ok()) Step(Within(10));
  latency_ = nullptr;
  return broken_;
}

bool LoadClient::TimeIsOver() const { return stop_.stop_requested() || clock_.SteadyNs() >= end_ns_; }

bool LoadClient::Reopen() {
  frames_given_up_ = counts_.frames_sent - counts_.frames_acknowledged;
  const std::uint64_t seen_slots = counts_.slots_received + counts_.slots_skipped;
  slots_given_up_ = counts_.slots_sent - std::min(counts_.slots_sent, seen_slots);
  // Flat out, epochs are counted from the first message of a stream.
  std::uint64_t most = 0;
  for (const auto& each : connections_) most = std::max(most, each->messages / panels_per_stream_ + 1);
  flat_out_epoch_ += most * plan_.frames_per_message;
  reconnect_.Lasted(clock_.SteadyNs() - opened_ns_);
  while (link::Reconnect::MayPass(broken_)) {
    clock_.SleepFor(std::clamp<std::int64_t>(end_ns_ - clock_.SteadyNs(), 0, reconnect_.DelayNs(broken_)),
                    stop_);
    if (TimeIsOver()) break;
    Close();
    broken_ = Open(std::min(kConnectNs, end_ns_ - clock_.SteadyNs()));
    if (broken_.ok()) {
      ++counts_.reconnections;
      if (!flat_out()) counts_.slots_unsent += pace_.Skip(clock_.SteadyNs());
      return true;
    }
  }
  return false;
}

void LoadClient::RunFlatOut() {
  flat_out_epoch_ = std::max(flat_out_epoch_, plan_.slot.EpochAt(clock_.UnixNs()));
  for (std::size_t i = 0; i < streams_; ++i) SendFlatOut(i);
  while (!TimeIsOver() && broken_.ok()) Step(Within(10));
}

// As the echo does it: asleep until a slot is due, then out with it, then listening until the watcher has it.
// What comes in meanwhile is taken before the next slot is stamped.
void LoadClient::RunPaced() {
  while (!TimeIsOver() && broken_.ok()) {
    const std::int64_t due_ns = std::min(pace_.NextDueNs(), end_ns_);
    clock_.SleepUntil(clock_.UnixNs() + due_ns - clock_.SteadyNs(), stop_);
    while (Step(gpr_inf_past(GPR_CLOCK_MONOTONIC))) {
    }
    SendDueSlots();
    const std::int64_t next_ns = pace_.NextDueNs();
    while (!SlotIsOut() && clock_.SteadyNs() < next_ns && !TimeIsOver() && broken_.ok()) Step(Within(1));
  }
  if (broken_.ok()) SendDueSlots();  // the last ones, if the machine was busy
}

// Whether the watcher has every slot that was sent, or is not meant to have every one.
bool LoadClient::SlotIsOut() const {
  return plan_.watch_rate_hz > 0 ||
         counts_.slots_received + counts_.slots_skipped + slots_given_up_ >= counts_.slots_sent;
}

bool LoadClient::AllAnswered() const {
  return counts_.frames_acknowledged + frames_given_up_ >= counts_.frames_sent && (flat_out() || SlotIsOut());
}

bool LoadClient::Step(gpr_timespec deadline) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_->AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
  const Event& event = *static_cast<Event*>(tag);
  Connection& connection = *connections_[event.stream];
  if (&event == &connection.ended) {
    broken_ = EndOf(connection);
  } else if (!ok) {
    AskWhy(connection);
  } else if (&event == &connection.read) {
    const bool watches = event.stream == watcher();
    watches ? OnSlot(connection) : OnAcknowledged(connection);
    connection.stream->Read(&connection.incoming, &connection.read);
    if (watches || !flat_out()) return true;
    for (std::size_t i = 0; i < streams_; ++i) SendFlatOut(i);
  } else if (event.stream != watcher()) {
    connection.writing = false;
    WriteNext(connection);
    if (flat_out()) SendFlatOut(event.stream);
  }
  return true;
}

void LoadClient::OnAcknowledged(Connection& connection) {
  if (!Decode(connection.incoming, response_)) return;
  counts_.frames_acknowledged += response_.acknowledged_sequence() - connection.acknowledged;
  connection.acknowledged = response_.acknowledged_sequence();
  for (const v1::Refusal& refusal : response_.refusals()) {
    if (refusal.subjects_size() == 0) ++counts_.frames_refused;
    if (counts_.first_refusal.empty()) counts_.first_refusal = refusal.message();
  }
}

void LoadClient::OnSlot(Connection& connection) {
  const std::int64_t now_ns = clock_.UnixNs();
  if (!Decode(connection.incoming, watched_)) return;
  const v1::FusedSlot& slot = watched_.slot();
  ++counts_.slots_received;
  counts_.slots_skipped += watched_.skipped_slots();
  const bool complete = std::ranges::all_of(slot.contributors(), [this](std::uint64_t word) {
    return std::popcount(word) == static_cast<int>(plan_.panels);
  });
  if (!complete) ++counts_.slots_incomplete;
  if (latency_ != nullptr) latency_->Add(runtime::ElapsedNs(slot.captured_unix_ns(), now_ns));
}

void LoadClient::SendDueSlots() {
  while (const std::optional<estimate::Epoch> epoch = pace_.Take(clock_.SteadyNs())) {
    const std::size_t frame = next_slot_++ % plan_.frames_per_message;
    const std::int64_t stamp_ns = clock_.UnixNs();
    for (std::size_t i = 0; i < plan_.panels; ++i) {
      messages_[i].Stamp(frame, *epoch, stamp_ns);
      if (frame + 1 == plan_.frames_per_message) Send(i);
    }
  }
}

void LoadClient::SendFlatOut(std::size_t stream) {
  Connection& connection = *connections_[stream];
  const std::uint64_t frames = plan_.frames_per_message;
  if (!sending_ || connection.writing ||
      connection.messages * frames - connection.acknowledged >= kMaxInFlight * panels_per_stream_ * frames) {
    return;
  }
  std::uint64_t least = connection.messages;
  for (std::size_t i = 0; i < streams_; ++i) least = std::min(least, connections_[i]->messages);
  if (connection.messages - least >= kMaxAhead) return;
  const std::size_t panel = stream * panels_per_stream_ + connection.messages % panels_per_stream_;
  const std::int64_t stamp_ns = clock_.UnixNs();
  for (std::size_t frame = 0; frame < frames; ++frame) {
    const std::uint64_t slot = connection.messages / panels_per_stream_ * frames + frame;
    messages_[panel].Stamp(frame, flat_out_epoch_ + slot, stamp_ns);
  }
  Send(panel);
}

void LoadClient::Send(std::size_t panel) {
  Connection& connection = *connections_[panel / panels_per_stream_];
  messages_[panel].Number(connection.messages++ * plan_.frames_per_message + 1);
  const std::string& bytes = messages_[panel].bytes();
  counts_.frames_sent += plan_.frames_per_message;
  if (panel == 0) counts_.slots_sent += plan_.frames_per_message;
  grpc::Slice slice(bytes.data(), bytes.size());
  connection.waiting.emplace_back(&slice, 1);
  WriteNext(connection);
}

void LoadClient::WriteNext(Connection& connection) {
  if (connection.writing || connection.status || connection.waiting.empty()) return;
  connection.writing = true;
  connection.stream->Write(connection.waiting.front(), &connection.written);
  connection.waiting.pop_front();
}

}  // namespace tributary::cli
