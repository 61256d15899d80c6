#include "node/certificate_renewal.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "core/certificates/signing_request.h"
#include "core/config/pem.h"
#include "core/config/tls.h"
#include "core/link/channel.h"
#include "core/runtime/file.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"
#include "tributary/v1/certificate.grpc.pb.h"

namespace tributary::node {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kSoonestRetryS = 60;
constexpr std::int64_t kLatestRetryS = 3'600;

// Whether the CA file has a newer authority than the one that signed the certificate.
bool IsOfAnOlderAuthority(X509* certificate, const std::string& ca_pem) {
  std::int64_t newest = std::numeric_limits<std::int64_t>::min(), own = newest;
  for (const config::Certificate& each : config::CertificatesIn(ca_pem)) {
    const std::int64_t begins = config::UnixSeconds(X509_get0_notBefore(each.get()));
    newest = std::max(newest, begins);
    const bool signed_it = X509_check_issued(each.get(), certificate) == X509_V_OK &&
                           X509_verify(certificate, X509_get0_pubkey(each.get())) == 1;
    if (signed_it) own = std::max(own, begins);
  }
  ERR_clear_error();
  return own < newest;
}

bool HaveOneIssuer(const std::string& a_pem, const std::string& b_pem) {
  const std::vector<config::Certificate> a = config::CertificatesIn(a_pem), b = config::CertificatesIn(b_pem);
  return !a.empty() && !b.empty() &&
         X509_NAME_cmp(X509_get_issuer_name(a.front().get()), X509_get_issuer_name(b.front().get())) == 0;
}

}  // namespace

// gRPC's thread fills it and then sets `done`.
struct CertificateRenewal::Call {
  std::unique_ptr<v1::CertificateService::Stub> stub;
  grpc::ClientContext context;
  v1::RenewCertificateRequest request;
  v1::RenewCertificateResponse response;
  grpc::Status status;
  std::string ca_pem;  // in force when it was made
  std::atomic<bool> done = false;
};

CertificateRenewal::CertificateRenewal(std::string aggregator, config::TlsFiles files,
                                       const RenewalSettings& settings, config::TlsSource tls,
                                       const runtime::Clock& clock)
    : aggregator_(std::move(aggregator)),
      files_(std::move(files)),
      settings_(settings),
      tls_(std::move(tls)),
      clock_(clock) {}

CertificateRenewal::~CertificateRenewal() {
  if (call_ != nullptr) call_->context.TryCancel();
}

std::int64_t CertificateRenewal::DueUnixS() {
  const std::uint64_t version = tls_->version();
  if (std::exchange(judged_version_, version) == version) return due_unix_s_;
  const std::vector<config::Certificate> chain = config::CertificatesIn(tls_->material()->certificate_pem);
  if (chain.empty()) return due_unix_s_ = std::numeric_limits<std::int64_t>::max();  // cannot be in force
  const std::string ca_pem = tls_->material()->ca_pem;
  if (ca_pem != asked_with_ca_ && IsOfAnOlderAuthority(chain.front().get(), ca_pem)) return due_unix_s_ = 0;
  const std::int64_t begins = config::UnixSeconds(X509_get0_notBefore(chain.front().get()));
  const std::int64_t ends = config::UnixSeconds(X509_get0_notAfter(chain.front().get()));
  const double before_s = static_cast<double>(std::min(settings_.before_s, (ends - begins) / 2));
  // Boards that joined in one hour do not renew in one minute.
  const double spread = std::uniform_real_distribution<double>(0.9, 1)(random_);
  return due_unix_s_ = ends - static_cast<std::int64_t>(before_s * spread);
}

void CertificateRenewal::Tick() {
  if (call_ != nullptr) {
    if (!call_->done.load(std::memory_order_acquire)) return;
    const std::shared_ptr<Call> call = std::exchange(call_, nullptr);
    return Take(*call);
  }
  if (clock_.SteadyNs() < next_try_steady_ns_ || clock_.UnixNs() / kSecondNs < DueUnixS()) return;
  Ask();
}

void CertificateRenewal::Ask() {
  const auto call = std::make_shared<Call>();
  call->ca_pem = tls_->material()->ca_pem;
  const config::Key key = config::KeyIn(tls_->material()->key_pem);
  if (key != nullptr) {
    call->request.set_certificate_request(certificates::MakeSigningRequest(*key).value_or(""));
  }
  // A connection for this call alone: the next one is months away.
  call->stub = v1::CertificateService::NewStub(link::MakeChannel(aggregator_, *tls_->material()));
  call->context.set_wait_for_ready(true);
  call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  call_ = call;
  call->stub->async()->RenewCertificate(&call->context, &call->request, &call->response,
                                        [call](grpc::Status status) {
                                          call->status = std::move(status);
                                          call->done.store(true, std::memory_order_release);
                                        });
}

void CertificateRenewal::Take(const Call& call) {
  absl::Status status =
      call.status.ok() ? Install(call.response.certificate()) : wire::PeerStatus(call.status);
  if (absl::IsUnimplemented(status)) {
    status = absl::UnimplementedError("the aggregator has no authority in [access] of its configuration");
  }
  next_try_steady_ns_ = clock_.SteadyNs() + RetryDelayNs();
  if (status.ok()) {
    asked_with_ca_ = call.ca_pem;
    ++renewed_;
    problem_.clear();
    runtime::LogInfo("tls: {} is renewed", files_.certificate);
    return;
  }
  ++failed_;
  problem_ = std::string(status.message());
  runtime::LogWarning("tls: {} is not renewed: {}", files_.certificate, problem_);
}

absl::Status CertificateRenewal::Install(const std::string& certificate_pem) {
  // Beside the one in force, until it is known to be good.
  config::TlsFiles next = files_;
  next.certificate += ".new";
  RETURN_IF_ERROR(runtime::WriteFileAtomically(next.certificate, certificate_pem));
  const absl::StatusOr<config::TlsMaterial> loaded = config::LoadTls(next, config::kClientOnly);
  std::remove(next.certificate.c_str());
  RETURN_IF_ERROR(loaded.status());
  const std::shared_ptr<const config::TlsMaterial> present = tls_->material();
  if (loaded->name != present->name) {
    return absl::FailedPreconditionError(
        fmt::format("the aggregator sent a certificate of \"{}\"", runtime::Printable(loaded->name)));
  }
  // That of another authority may end sooner.
  if (loaded->expires_unix_s <= present->expires_unix_s &&
      HaveOneIssuer(loaded->certificate_pem, present->certificate_pem)) {
    return absl::FailedPreconditionError(
        "the aggregator sent a certificate that expires no later than the present one: raise "
        "certificate_days in "
        "its [access]");
  }
  return runtime::WriteFileAtomically(files_.certificate, certificate_pem);
}

std::int64_t CertificateRenewal::RetryDelayNs() {
  const std::int64_t left_s = tls_->material()->expires_unix_s - clock_.UnixNs() / kSecondNs;
  const double delay_s = static_cast<double>(std::clamp(left_s / 8, kSoonestRetryS, kLatestRetryS));
  return static_cast<std::int64_t>(delay_s * std::uniform_real_distribution<double>(0.8, 1.2)(random_) *
                                   static_cast<double>(kSecondNs));
}

void CollectRenewals(const CertificateRenewal* renewal, runtime::Reading& reading) {
  const auto count = [&](const char* result, std::uint64_t number) {
    reading.Counter(
        "tributary_certificate_renewals_total",
        "Attempts to renew this node's certificate before it expires: renewed, or failed and tried "
        "again within an hour.",
        {{"result", result}}, number);
  };
  count("renewed", renewal == nullptr ? 0 : renewal->renewed());
  count("failed", renewal == nullptr ? 0 : renewal->failed());
}

}  // namespace tributary::node
