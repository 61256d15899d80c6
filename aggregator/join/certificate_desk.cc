#include "aggregator/join/certificate_desk.h"

#include <fmt/format.h>

#include "core/certificates/new_certificate.h"
#include "core/certificates/signing_request.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"

namespace tributary::join {
namespace {

constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;

// Once, before the next line replaces the torn one.
void WarnOfTornLine(const certificates::IssueRecord& record) {
  const std::string warning = record.TornLineWarning();
  if (!warning.empty()) runtime::LogWarning("certificates: {}", warning);
}

}  // namespace

CertificateDesk::CertificateDesk(Authority authority, std::int64_t lifetime_s, const runtime::Clock& clock)
    : lifetime_s_(lifetime_s),
      clock_(clock),
      authority_(std::move(authority)),
      ca_sha256_(certificates::Fingerprint(*authority_.pair.certificate)),
      names_(authority_.record),
      ca_pem_(certificates::PemOf(*authority_.pair.certificate)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

CertificateDesk::~CertificateDesk() {
  {
    const runtime::MutexLock lock(mutex_);
    thread_.request_stop();
  }
  news_.notify_all();
}

void CertificateDesk::Ask(Order order, Done done) {
  {
    const runtime::MutexLock lock(mutex_);
    if (waiting_.size() < kMostWaiting) {
      waiting_.push_back({std::move(order), std::move(done)});
      news_.notify_one();
      return;
    }
  }
  ++(order.token ? joins_refused_ : renewals_refused_);
  done(absl::ResourceExhaustedError("too many ask for a certificate at once: come back in a minute"));
}

void CertificateDesk::Replace(Authority authority) {
  WarnOfTornLine(authority.record);
  const runtime::MutexLock lock(mutex_);
  ca_pem_ = certificates::PemOf(*authority.pair.certificate);
  next_authority_ = std::move(authority);
}

void CertificateDesk::Run(const std::stop_token& stop) {
  runtime::EnterThread("certificates", runtime::ThreadRank::kBackground);
  WarnOfTornLine(authority_.record);
  while (true) {
    std::deque<Waiting> batch;
    std::optional<Authority> next;
    {
      runtime::MutexLock lock(mutex_);
      while (waiting_.empty()) {
        if (stop.stop_requested()) return;
        news_.wait(lock);
      }
      batch.swap(waiting_);
      next.swap(next_authority_);
    }
    if (next) {
      authority_ = *std::move(next);
      ca_sha256_ = certificates::Fingerprint(*authority_.pair.certificate);
      names_ = BoardNames(authority_.record);
    }
    Serve(std::move(batch));
  }
}

void CertificateDesk::Serve(std::deque<Waiting> batch) {
  std::vector<absl::StatusOr<Issued>> answers;
  for (const Waiting& each : batch) answers.push_back(Sign(each.order));
  const absl::Status written = authority_.record.Write();
  if (!written.ok()) runtime::LogError("certificates: {}; none was given", std::string(written.message()));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (answers[i].ok() && !written.ok()) {
      answers[i] = absl::UnavailableError("the aggregator cannot write its record of certificates");
    }
    const bool joins = batch[i].order.token.has_value();
    if (answers[i].ok()) {
      ++(joins ? joined_ : renewed_);
      if (joins) {
        runtime::LogInfo("certificates: board \"{}\" joined with the invitation {} ({})", answers[i]->name,
                         batch[i].order.token->id, runtime::Printable(batch[i].order.token->name));
      }
    } else {
      ++(joins ? joins_refused_ : renewals_refused_);
    }
    batch[i].done(std::move(answers[i]));
  }
}

absl::StatusOr<CertificateDesk::Issued> CertificateDesk::Sign(const Order& order) {
  ASSIGN_OR_RETURN(const config::Key key, certificates::KeyOfSigningRequest(order.certificate_request));
  certificates::IssueRecord::Joined joined;
  std::string name = order.name;
  if (order.token) {
    // The record of another authority says which of its names are taken.
    if (!order.token->ca_sha256.empty() && order.token->ca_sha256 != ca_sha256_) {
      return absl::PermissionDeniedError(fmt::format(
          "the token \"{}\" is for another authority: make a new one with `tributary token invite`",
          order.token->name));
    }
    joined = {order.token->id, certificates::Fingerprint(*key)};
    ASSIGN_OR_RETURN(name, names_.NameFor(*order.token, order.name, joined.key_sha256));
  }
  if (!certificates::IsCertificateName(name)) {
    return absl::InvalidArgumentError(fmt::format(
        "\"{}\" cannot be renewed here: expected 1 to 63 letters, digits, '-', '_' or '.'", name));
  }
  RETURN_IF_ERROR(CountToday(name));
  ASSIGN_OR_RETURN(const config::Certificate made,
                   certificates::MakeCertificate({.name = name}, *key, lifetime_s_, authority_.pair));
  if (order.token) names_.Take(joined.token, name, joined.key_sha256);
  authority_.record.Add(name, *made, std::move(joined));
  return Issued{std::move(name), certificates::PemOf(*made)};
}

absl::Status CertificateDesk::CountToday(const std::string& name) {
  const std::int64_t today = clock_.UnixNs() / kDayNs;
  if (std::exchange(day_, today) != today) issued_today_.clear();
  int& count = issued_today_[name];
  if (count >= kMostOfNameADay) {
    return absl::ResourceExhaustedError(
        fmt::format("\"{}\" got {} certificates today: come back tomorrow (UTC)", name, count));
  }
  ++count;
  return absl::OkStatus();
}

void CertificateDesk::Collect(runtime::Reading& reading) const {
  const auto count = [&](const char* way, const char* result, std::uint64_t number) {
    reading.Counter(
        "tributary_certificates_issued_total",
        "Certificates that boards asked the aggregator's authority for, when they joined by a token "
        "or renewed theirs: given or refused.",
        {{"way", way}, {"result", result}}, number);
  };
  count("join", "given", joined_);
  count("join", "refused", joins_refused_);
  count("renewal", "given", renewed_);
  count("renewal", "refused", renewals_refused_);
}

}  // namespace tributary::join
