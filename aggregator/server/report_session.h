// The protocol of one Report stream, without the transport.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/fusion/engine.h"
#include "aggregator/publish/aggregator_state.h"
#include "aggregator/server/stream_refusal.h"
#include "core/estimate/tuple_frame.h"
#include "core/wire/convert.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::server {

// Not thread-safe: the stream's thread only. Nothing allocates in steady state, except refusals.
class ReportSession {
 public:
  // Do not read from a peer with this many unsent refusals.
  static constexpr int kMaxPendingRefusals = 256;

  // The limit of one message: frames, i.e. slots of one source. Bounds the answer to one message.
  static constexpr int kMaxFrames = 1024;

  // The state outlives the session. `identity`: whose certificate it is, with TLS, and when that expires.
  // `peer`: whose share of places the node uses (Fleet).
  ReportSession(publish::AggregatorState& state, std::optional<access::Peer> identity, std::string peer = "",
                std::int64_t certificate_expires_unix_ns = 0)
      : state_(state),
        identity_(std::move(identity)),
        peer_(std::move(peer)),
        certificate_expires_unix_ns_(certificate_expires_unix_ns) {}
  ~ReportSession() { Leave(); }
  ReportSession(const ReportSession&) = delete;
  ReportSession& operator=(const ReportSession&) = delete;

  // Publishes and empties the slots that wait.
  using Publish = std::function<void()>;

  // Offers the frames of one message; appends the slots that they complete, of site(), to `out`. A refusal
  // ends the stream; the frames before the fault were accepted. With late frames that revise, each small
  // frame of a message gives out a whole slot: `publish` bounds what `out` holds.
  std::optional<StreamRefusal> Take(
      const v1::ReportRequest& request, fusion::FusionTime now, fusion::FusedSlots& out,
      const Publish& publish = [] {});

  // Whether this stream reports that source of the engine.
  bool Owns(fusion::SourceHandle source) const;
  // The gate removed a tuple after its frame was accepted.
  void RefuseGated(const fusion::GatedTuple& tuple);

  // Whether the policy and the list in force still admit this node and its sources. Call after it has
  // changed.
  std::optional<StreamRefusal> CheckAccess() const;

  // A newer stream of the same node has joined.
  bool superseded() const;
  StreamRefusal Superseded() const;
  bool admitted() const { return site_ != nullptr; }
  std::size_t sources() const { return admitted_.size(); }
  // Null before the hello.
  publish::Site* site() const { return site_; }
  const std::string& node() const { return node_; }
  bool superseded_another() const { return membership_.superseded_another; }
  // The node's, over all its streams.
  runtime::LogLimit& log_limit() const { return membership_.record->log_limit; }
  // This stream's counts.
  std::uint64_t taken_frames() const { return taken_frames_; }
  std::uint64_t refused_frames() const { return refused_frames_; }

  // Frames accepted or refused and not yet acknowledged; the answer to a hello counts as one.
  std::uint64_t unanswered() const { return unanswered_; }
  int pending_refusals() const { return answer_.refusals_size(); }
  // Writes the acknowledgement and all refusals before it to `response`.
  void TakeAnswer(v1::ReportResponse& response);

  // The stream has ended; its node is no longer connected.
  void Leave();

 private:
  struct Source {
    fusion::SourceHandle handle = 0;
    wire::FrameLimits limits;
  };

  std::optional<StreamRefusal> TakeHello(const v1::ReportRequest& request);
  // Whether each source belongs to the node. Always so without TLS: then nobody's name is known.
  std::optional<StreamRefusal> CheckOwner(const std::string& site, const std::string& node,
                                          const std::vector<fusion::SourceDeclaration>& sources) const;
  // Decides whether this node may report from these sources in this site.
  std::optional<StreamRefusal> Admit(const v1::Hello& hello, estimate::SlotLength slot);
  void TakeFrame(const v1::Frame& wire, fusion::FusionTime now, fusion::FusedSlots& out);
  void Refuse(std::uint64_t sequence, v1::RefusalReason reason, std::string message,
              const std::vector<std::uint32_t>& subjects);

  publish::AggregatorState& state_;
  const std::optional<access::Peer> identity_;
  const std::string peer_;
  const std::int64_t certificate_expires_unix_ns_;
  publish::Site* site_ = nullptr;  // set with the admission, as the next four
  std::string node_;
  std::vector<Source> admitted_;  // by the index in frames
  std::vector<fusion::SourceDeclaration> declared_;
  publish::Fleet::Membership membership_;
  estimate::TupleFrame frame_;  // reused
  v1::ReportResponse answer_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t unanswered_ = 0;
  std::uint64_t taken_frames_ = 0;
  std::uint64_t refused_frames_ = 0;
  bool left_ = false;
};

}  // namespace tributary::server
