#include "cli/load/load_client.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "core/estimate/slot_length.h"
#include "core/runtime/elapsed.h"
#include "core/status/macros.h"
#include "core/wire/convert.h"
#include "core/wire/hello.h"

namespace tributary::cli {
namespace {

constexpr std::int64_t kConnectMs = 5'000;
constexpr std::int64_t kDrainNs = 2'000'000'000;
constexpr std::int64_t kReopenNs = 100'000'000;  // between two attempts
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

// The widest varint is ten bytes; parsers take padded ones.
constexpr std::size_t kVarintBytes = 10;
constexpr std::uint64_t kWidest = std::numeric_limits<std::uint64_t>::max();
// In a Frame, each after its one-byte tag: sequence, epoch, captured_unix_ns.
constexpr std::size_t kSequenceAt = 1;
constexpr std::size_t kEpochAt = kSequenceAt + kVarintBytes + 1;
constexpr std::size_t kCapturedAt = kEpochAt + kVarintBytes + 1;

constexpr float kSigmaM = 0.02f;  // of one panel ([LIS]: about 2 cm)

void PutPaddedVarint(char* at, std::uint64_t value) {
  for (std::size_t i = 0; i + 1 < kVarintBytes; ++i) {
    at[i] = static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  at[kVarintBytes - 1] = static_cast<char>(value);
}

v1::Frame TemplateFrame(std::uint32_t panel, std::size_t source, std::uint32_t users) {
  v1::Frame frame;
  frame.set_sequence(kWidest);
  frame.set_epoch(kWidest);
  frame.set_captured_unix_ns(1);
  frame.set_source(static_cast<std::uint32_t>(source));
  std::mt19937 random(panel + 1);
  std::normal_distribution<float> error(0, kSigmaM);
  for (std::uint32_t user = 0; user < users; ++user) {
    frame.add_subjects(user);
    frame.add_means(static_cast<float>(user % 8) - 3.5f + error(random));
    frame.add_means(static_cast<float>(user / 8 % 8) - 3.5f + error(random));
    for (float element : {kSigmaM, 0.1f * kSigmaM, kSigmaM}) frame.add_cholesky(element);
  }
  return frame;
}

}  // namespace

// A ReportRequest as bytes, built once: between sends only sequence, epoch and stamp of its frames change.
class LoadMessage {
 public:
  // `frames` frames of `users` subjects each, of the stream's source with the index `source`. The positions
  // of all panels agree within their covariance.
  LoadMessage(std::uint32_t panel, std::size_t source, std::uint32_t users, std::size_t frames) {
    v1::ReportRequest one;
    *one.add_frames() = TemplateFrame(panel, source, users);
    const std::size_t frame_bytes = one.frames(0).ByteSizeLong();
    const std::string element = one.SerializeAsString();
    for (std::size_t i = 0; i < frames; ++i) {
      bytes_ += element;
      offsets_.push_back(bytes_.size() - frame_bytes);
    }
  }

  void Stamp(std::size_t frame, estimate::Epoch epoch, std::int64_t captured_unix_ns) {
    char* at = bytes_.data() + offsets_[frame];
    PutPaddedVarint(at + kEpochAt, epoch);
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(at + kCapturedAt, &captured_unix_ns, sizeof captured_unix_ns);
  }

  // The sequence of its first frame; the others follow.
  void Number(std::uint64_t first_sequence) {
    for (const std::size_t offset : offsets_) {
      PutPaddedVarint(bytes_.data() + offset + kSequenceAt, first_sequence++);
    }
  }

  // Varints of sequence and epoch are written at full width, so the message is at most 15 bytes per frame
  // larger than a node's.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::size_t> offsets_;  // of each frame
};

LoadClient::LoadClient(const LoadPlan& plan, std::optional<config::TlsMaterial> tls)
    : plan_(plan),
      tls_(std::move(tls)),
      streams_(tls_ ? 1 : plan.panels),
      panels_per_stream_(plan.panels / streams_) {
  for (std::uint32_t i = 0; i < plan.panels; ++i) {
    messages_.emplace_back(i, i % panels_per_stream_, plan.users, plan.frames_per_message);
  }
}

absl::StatusOr<std::unique_ptr<LoadClient>> LoadClient::Connect(const LoadPlan& plan) {
  ASSIGN_OR_RETURN(std::optional<config::TlsMaterial> tls, LoadClientTls(plan.connection.tls));
  std::unique_ptr<LoadClient> client(new LoadClient(plan, std::move(tls)));
  RETURN_IF_ERROR(client->Open());
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

absl::Status LoadClient::Open() {
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

  const gpr_timespec deadline = Within(kConnectMs);
  for (std::size_t awaited = 2 * streams_ + 1; awaited > 0;) {
    void* tag = nullptr;
    bool ok = true;
    if (queue_->AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) {
      return FromPeer(absl::UnavailableError("no answer within 5 s"), plan_.connection);
    }
    const auto* event = static_cast<const Event*>(tag);
    Connection& connection = *connections_[event->stream];
    if (event == &connection.ended) {
      const bool said_why = !connection.status->ok();
      return FromPeer(
          said_why ? *connection.status : grpc::Status(grpc::StatusCode::UNAVAILABLE, "it ended the stream"),
          plan_.connection);
    }
    if (ok) {
      --awaited;
    } else if (!connection.status) {
      connection.stream->Finish(&connection.status.emplace(), &connection.ended);
    }
  }
  for (const auto& each : connections_) each->stream->Read(&each->incoming, &each->read);
  return absl::OkStatus();
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

absl::Status LoadClient::Run(std::chrono::nanoseconds duration, runtime::LatencyHistogram& latency) {
  latency_ = &latency;
  sending_ = true;
  run_slots_ = 0;
  start_ns_ = clock_.SteadyNs();
  next_epoch_ = std::max(next_epoch_, plan_.slot.EpochAt(clock_.UnixNs()));
  const std::int64_t end_ns = start_ns_ + duration.count();
  do {
    if (flat_out()) {
      for (std::size_t i = 0; i < streams_; ++i) SendFlatOut(i);
      while (clock_.SteadyNs() < end_ns && broken_.ok()) Step(Within(10));
    } else {
      RunPaced(end_ns);
    }
  } while (!broken_.ok() && Reopen(end_ns));
  sending_ = false;
  const std::int64_t drained_ns = clock_.SteadyNs() + kDrainNs;
  while (!AllAnswered() && clock_.SteadyNs() < drained_ns && broken_.ok()) Step(Within(10));
  latency_ = nullptr;
  return broken_;
}

bool LoadClient::Reopen(std::int64_t end_ns) {
  frames_given_up_ = counts_.frames_sent - counts_.frames_acknowledged;
  const std::uint64_t seen_slots = counts_.slots_received + counts_.slots_skipped;
  slots_given_up_ = counts_.slots_sent - std::min(counts_.slots_sent, seen_slots);
  // Flat out, epochs are counted from the first message of a stream.
  std::uint64_t most = 0;
  for (const auto& each : connections_) most = std::max(most, each->messages / panels_per_stream_ + 1);
  if (flat_out()) next_epoch_ += most * plan_.frames_per_message;
  while (clock_.SteadyNs() < end_ns) {
    Close();
    broken_ = Open();
    if (broken_.ok()) {
      ++counts_.reconnections;
      if (!flat_out()) {
        const std::uint64_t due = DueSlots();
        counts_.slots_unsent += due - std::exchange(run_slots_, due);
      }
      next_epoch_ = std::max(next_epoch_, plan_.slot.EpochAt(clock_.UnixNs()));
      return true;
    }
    clock_.SleepFor(kReopenNs, {});
  }
  return false;
}

// As the echo does it: asleep until a slot is due, then out with it, then listening until the watcher has it.
// What comes in meanwhile is taken before the next slot is stamped.
void LoadClient::RunPaced(std::int64_t end_ns) {
  const double period_ns = 1e9 / plan_.rate_hz;
  for (std::int64_t now_ns = start_ns_; now_ns < end_ns && broken_.ok(); now_ns = clock_.SteadyNs()) {
    const std::int64_t due_ns =
        start_ns_ + static_cast<std::int64_t>(period_ns * static_cast<double>(run_slots_ + 1));
    clock_.SleepUntil(clock_.UnixNs() + due_ns - now_ns, {});
    while (Step(gpr_inf_past(GPR_CLOCK_MONOTONIC))) {
    }
    SendDueSlots();
    const std::int64_t next_ns = due_ns + static_cast<std::int64_t>(period_ns);
    while (!SlotIsOut() && clock_.SteadyNs() < next_ns && broken_.ok()) Step(Within(1));
  }
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
  if (!ok) {
    broken_ = FromPeer(absl::UnavailableError("the connection broke"), plan_.connection);
    return true;
  }
  if (&event == &connection.read) {
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

// Since the run began.
std::uint64_t LoadClient::DueSlots() const {
  const double elapsed_s = 1e-9 * static_cast<double>(clock_.SteadyNs() - start_ns_);
  return static_cast<std::uint64_t>(elapsed_s * plan_.rate_hz);
}

void LoadClient::SendDueSlots() {
  for (const std::uint64_t due = DueSlots(); run_slots_ < due; ++run_slots_) {
    const std::size_t frame = next_slot_ % plan_.frames_per_message;
    const std::int64_t stamp_ns = clock_.UnixNs();
    // Slower than the site's slots, epochs are left out; faster, they run ahead.
    next_epoch_ = std::max(next_epoch_, plan_.slot.EpochAt(stamp_ns));
    for (std::size_t i = 0; i < plan_.panels; ++i) {
      messages_[i].Stamp(frame, next_epoch_, stamp_ns);
      if (frame + 1 == plan_.frames_per_message) Send(i);
    }
    ++next_slot_;
    ++next_epoch_;
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
    messages_[panel].Stamp(frame, next_epoch_ + slot, stamp_ns);
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
  if (connection.writing || connection.waiting.empty()) return;
  connection.writing = true;
  connection.stream->Write(connection.waiting.front(), &connection.written);
  connection.waiting.pop_front();
}

}  // namespace tributary::cli
