// The gRPC channel to an aggregator. Every client of the project uses it.
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/config/live_tls.h"
#include "core/config/tls.h"
#include "core/runtime/mutex.h"

namespace tributary::link {

// A channel to "host:port" or "unix:path"; mutual TLS if `tls` is given. It reconnects within half a second
// and detects a lost connection within four seconds. The server must admit a keepalive ping every two
// seconds.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const std::optional<config::TlsMaterial>& tls);

// The error of a stream that ended before its first answer, with what may help where gRPC only says that the
// connection was closed: one side may expect TLS and the other not. `tls`: whether this side uses it.
absl::Status WithTlsAdvice(const absl::Status& error, bool tls);

// Call before another attempt with the blocking API: waits at most half a second for the connection. gRPC
// drives a connect only while somebody waits on the channel (by itself every five seconds), and a call that
// fails at once does not wait.
void AwaitConnection(grpc::Channel& channel);

// The channel of a client whose certificate may be replaced. gRPC keeps a channel's certificate for good, so
// each version has a channel of its own: calls under way keep the one with which they began. Thread-safe.
class LiveChannel {
 public:
  // `tls` null: no TLS.
  LiveChannel(std::string address, config::TlsSource tls);

  // With the certificates in force; the same one until they are replaced.
  std::shared_ptr<grpc::Channel> Get() EXCLUDES(mutex_);
  // Whether a call would now have other certificates than the latest channel.
  bool renewed() const EXCLUDES(mutex_);

 private:
  const std::string address_;
  const config::TlsSource tls_;
  mutable runtime::Mutex mutex_;
  std::uint64_t version_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<grpc::Channel> channel_ GUARDED_BY(mutex_);
};

// The stub of a service on a LiveChannel, made again with each channel. Thread-safe.
template <class Service>
class LiveStub {
 public:
  // The channel outlives it.
  explicit LiveStub(LiveChannel& channel) : channel_(channel) {}

  std::shared_ptr<typename Service::Stub> Get() {
    std::shared_ptr<grpc::Channel> channel = channel_.Get();
    const runtime::MutexLock lock(mutex_);
    if (channel != made_for_) stub_ = Service::NewStub(channel);
    made_for_ = std::move(channel);
    return stub_;
  }

 private:
  LiveChannel& channel_;
  runtime::Mutex mutex_;
  std::shared_ptr<grpc::Channel> made_for_ GUARDED_BY(mutex_);
  std::shared_ptr<typename Service::Stub> stub_ GUARDED_BY(mutex_);
};

}  // namespace tributary::link
