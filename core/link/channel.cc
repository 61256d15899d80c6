#include "core/link/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tributary::link {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const std::optional<config::TlsMaterial>& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 400);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   2000);  // in gRPC 1.51: the time that a connect may take
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // an environment variable must not divert tuples
  // Each client has its own connection, so a fault of one does not reach another.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (tls) {
    credentials = grpc::SslCredentials({tls->ca_pem, tls->key_pem, tls->certificate_pem});
  }
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

absl::Status WithTlsAdvice(const absl::Status& error, bool tls) {
  // The kernel says "reset" where the peer closed before it had read everything.
  const bool closed = absl::StrContains(error.message(), "Socket closed") ||
                      absl::StrContains(error.message(), "Connection reset by peer");
  if (!absl::IsUnavailable(error) || !closed) return error;
  return absl::UnavailableError(absl::StrCat(
      error.message(),
      tls ? "; the aggregator may not trust this certificate: its ca must be the one that signed it"
          : "; if the aggregator wants TLS, fill [tls]",
      "; or it refuses this address for now: its log says why"));
}

void AwaitConnection(grpc::Channel& channel) {
  constexpr auto kLimit = std::chrono::milliseconds(500);
  channel.WaitForConnected(std::chrono::system_clock::now() + kLimit);
}

LiveChannel::LiveChannel(std::string address, config::TlsSource tls)
    : address_(std::move(address)), tls_(std::move(tls)) {}

std::shared_ptr<grpc::Channel> LiveChannel::Get() {
  // The version first: a replacement in between is taken by the next call.
  const std::uint64_t version = tls_ == nullptr ? 0 : tls_->version();
  const runtime::MutexLock lock(mutex_);
  if (channel_ != nullptr && version <= version_) return channel_;
  version_ = version;
  channel_ = MakeChannel(
      address_, tls_ == nullptr ? std::nullopt : std::optional<config::TlsMaterial>(*tls_->material()));
  return channel_;
}

bool LiveChannel::renewed() const {
  if (tls_ == nullptr) return false;
  const runtime::MutexLock lock(mutex_);
  return tls_->version() > version_;
}

}  // namespace tributary::link
