// Scans what gRPC is about to parse (FrameScan), with and without TLS, and tells whose streams end (BeginEnd)
// and when a thread waits (BeginWait): this module defines the functions by which gRPC makes a connection,
// parses its bytes, ends its streams and waits for more, and calls gRPC's own from them.
#include <dlfcn.h>
#include <grpc/slice.h>
#include <grpcpp/version_info.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "aggregator/server/frame_scan.h"
#include "aggregator/server/read_cost.h"
#include "aggregator/server/socket.h"
#include "core/runtime/mutex.h"

// Another version may have other functions. Compare its src/core/ext/transport/chttp2/transport.
static_assert(GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51);

struct grpc_chttp2_stream;
struct grpc_chttp2_transport;
struct grpc_endpoint;
struct grpc_pollset;
struct grpc_pollset_worker;
struct grpc_transport;

namespace grpc_core {
class ChannelArgs;
class Timestamp {
  std::int64_t milliseconds_;
};
}  // namespace grpc_core

int grpc_endpoint_get_fd(grpc_endpoint* endpoint);

namespace tributary::server {
namespace {

struct Scanned {
  Socket socket;
  FrameScan scan = {};
};

// By the transport. The thread that parses a transport is the only one that uses its scan.
class Transports {
 public:
  void Add(const void* transport, Socket socket) {
    const runtime::MutexLock lock(mutex_);
    changes_.fetch_add(1);
    scanned_.insert_or_assign(transport, Scanned{socket});
    if (scanned_.size() < next_sweep_) return;
    std::erase_if(scanned_, [](const auto& each) { return !IsOpen(each.second.socket); });
    next_sweep_ = 2 * scanned_.size() + kLeastSweep;
  }
  // The address was another's.
  void Remove(const void* transport) {
    const runtime::MutexLock lock(mutex_);
    changes_.fetch_add(1);
    scanned_.erase(transport);
  }
  // Null: none of the gRPC port's. Connections come and go seldom, and frames come often: what a thread has
  // found it finds again without the lock.
  Scanned* Find(const void* transport) {
    thread_local std::uint64_t changes = 0;
    thread_local std::array<std::pair<const void*, Scanned*>, kRemembered> remembered;
    if (const std::uint64_t now = changes_; changes != now) {
      changes = now;
      remembered = {};
    }
    auto& [known, scanned] = remembered[reinterpret_cast<std::uintptr_t>(transport) / kSpacing % kRemembered];
    if (known == transport) return scanned;
    const runtime::MutexLock lock(mutex_);
    const auto found = scanned_.find(transport);
    known = transport;
    return scanned = found == scanned_.end() ? nullptr : &found->second;
  }

 private:
  static constexpr std::size_t kLeastSweep = 64, kRemembered = 64, kSpacing = 1024;

  runtime::Mutex mutex_;
  std::unordered_map<const void*, Scanned> scanned_ GUARDED_BY(mutex_);
  std::size_t next_sweep_ GUARDED_BY(mutex_) = kLeastSweep;
  std::atomic<std::uint64_t> changes_ = 1;
};

Transports& AllTransports() {
  static auto& transports = *new Transports;  // connections outlive static objects
  return transports;
}

template <class Function>
Function* OfGrpc(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

}  // namespace
}  // namespace tributary::server

__attribute__((visibility("default"))) grpc_transport* grpc_create_chttp2_transport(
    const grpc_core::ChannelArgs& arguments, grpc_endpoint* endpoint, bool is_client) {
  using namespace tributary::server;  // NOLINT(google-build-using-namespace): this is one of its functions
  static auto* const create = OfGrpc<grpc_transport*(const grpc_core::ChannelArgs&, grpc_endpoint*, bool)>(
      "_Z28grpc_create_chttp2_transportRKN9grpc_core11ChannelArgsEP13grpc_endpointb");
  const int fd = grpc_endpoint_get_fd(endpoint);
  grpc_transport* const transport = create(arguments, endpoint, is_client);
  const Socket socket{fd, InodeOf(fd)};
  if (!is_client && ReadCostOf(socket).has_value()) {
    AllTransports().Add(transport, socket);
    NoteSpeaking(socket);
  } else {
    AllTransports().Remove(transport);
  }
  return transport;
}

__attribute__((visibility("default"))) absl::Status grpc_chttp2_perform_read(grpc_chttp2_transport* transport,
                                                                             const grpc_slice& slice) {
  using namespace tributary::server;  // NOLINT(google-build-using-namespace): this is one of its functions
  static auto* const perform = OfGrpc<absl::Status(grpc_chttp2_transport*, const grpc_slice&)>(
      "_Z24grpc_chttp2_perform_readP21grpc_chttp2_transportRK10grpc_slice");
  if (Scanned* const scanned = AllTransports().Find(transport)) {
    FrameScan& scan = scanned->scan;
    switch (scan.Read({GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice)})) {
      case FrameScan::Fault::kNone:
        break;
      case FrameScan::Fault::kLongHeader:
        NoteLongHeader(scanned->socket);
        return absl::ResourceExhaustedError("a header is too long");
      case FrameScan::Fault::kCrowd:
        NoteCrowd(scanned->socket);
        return absl::ResourceExhaustedError("too many headers at once");
    }
    NoteFrames(scanned->socket, scan.headers(), scan.message_bytes_left());
  }
  return perform(transport, slice);
}

// Also of those that never became calls. A connection that goes ends all its streams at once, when nothing of
// it is read any more.
__attribute__((visibility("default"))) void grpc_chttp2_mark_stream_closed(grpc_chttp2_transport* transport,
                                                                           grpc_chttp2_stream* stream,
                                                                           int close_reads, int close_writes,
                                                                           absl::Status error) {
  using namespace tributary::server;  // NOLINT(google-build-using-namespace): this is one of its functions
  static auto* const mark = OfGrpc<void(grpc_chttp2_transport*, grpc_chttp2_stream*, int, int, absl::Status)>(
      "_Z30grpc_chttp2_mark_stream_closedP21grpc_chttp2_transportP18grpc_chttp2_"
      "streamiiN4absl7debian36StatusE");
  if (const Scanned* const scanned = AllTransports().Find(transport)) BeginEnd(scanned->socket);
  mark(transport, stream, close_reads, close_writes, std::move(error));
}

__attribute__((visibility("default"))) absl::Status grpc_pollset_work(grpc_pollset* pollset,
                                                                      grpc_pollset_worker** worker,
                                                                      grpc_core::Timestamp deadline) {
  using namespace tributary::server;  // NOLINT(google-build-using-namespace): this is one of its functions
  static auto* const work = OfGrpc<absl::Status(grpc_pollset*, grpc_pollset_worker**, grpc_core::Timestamp)>(
      "_Z17grpc_pollset_workP12grpc_pollsetPP19grpc_pollset_workerN9grpc_core9TimestampE");
  BeginWait();
  return work(pollset, worker, deadline);
}
