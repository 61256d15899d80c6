// Renews this node's certificate before it expires, by a call with the one that it has.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "core/config/live_tls.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace tributary::node {

struct RenewalSettings {
  bool on = false;
  std::int64_t before_s = std::int64_t{45} * 86'400;  // at most half of a certificate's lifetime
};

// The key stays: one file changes, so whenever the power fails the files fit each other. The node takes the
// new certificate as it takes any changed file (LiveTls), without a lost frame. A failure is logged, counted
// and tried again in an hour, sooner if the certificate expires sooner.
//
// A CA file that gets a newer authority than the certificate's says that the authority is being replaced: the
// node renews at once, and once for each such file, since an aggregator may sign in the name of the older
// one. The main thread's.
class CertificateRenewal {
 public:
  // The clock outlives it.
  CertificateRenewal(std::string aggregator, config::TlsFiles files, const RenewalSettings& settings,
                     config::TlsSource tls, const runtime::Clock& clock);
  // Drops a call under way.
  ~CertificateRenewal();

  // Call ten times a second: never waits.
  void Tick();
  // Why the latest attempt failed; empty: it did not.
  const std::string& problem() const { return problem_; }
  std::uint64_t renewed() const { return renewed_; }
  std::uint64_t failed() const { return failed_; }

 private:
  struct Call;

  // When the certificate in force is due, s since 1970.
  std::int64_t DueUnixS();
  void Ask();
  void Take(const Call& call);
  absl::Status Install(const std::string& certificate_pem);
  std::int64_t RetryDelayNs();

  const std::string aggregator_;
  const config::TlsFiles files_;
  const RenewalSettings settings_;
  const config::TlsSource tls_;
  const runtime::Clock& clock_;
  std::shared_ptr<Call> call_;  // null: none under way
  std::minstd_rand random_{std::random_device()()};
  std::uint64_t judged_version_ = 0;  // of tls_
  std::int64_t due_unix_s_ = 0;       // of that version
  std::string asked_with_ca_;         // the CA file with which it last renewed
  std::int64_t next_try_steady_ns_ = 0;
  std::string problem_;
  std::atomic<std::uint64_t> renewed_ = 0, failed_ = 0;
};

// Its counts as metrics; null: all are 0.
void CollectRenewals(const CertificateRenewal* renewal, runtime::Reading& reading);

}  // namespace tributary::node
