#include "aggregator/join/renewal_service.h"

#include <grpc/grpc_security_constants.h>
#include <openssl/x509v3.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/access/call_context.h"
#include "aggregator/access/call_gate.h"
#include "aggregator/access/early_call.h"
#include "core/config/pem.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"
#include "tributary/v1/certificate.grpc.pb.h"

namespace tributary::join {
namespace {

// The certificate that is renewed becomes a client's: an aggregator's would lose its use and its addresses.
bool IsOfClientOnly(const grpc::AuthContext& context) {
  const auto pem = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return false;
  const std::vector<config::Certificate> certificates =
      config::CertificatesIn({pem.front().data(), pem.front().size()});
  if (certificates.empty()) return false;
  return X509_check_purpose(certificates.front().get(), X509_PURPOSE_SSL_SERVER, 0) != 1;
}

class RenewalService final
    : public access::EarlyService<v1::CertificateService, v1::CertificateService::CallbackService> {
 public:
  RenewalService(CertificateDesk& desk, access::AuditLog* audit) : desk_(desk), audit_(audit) {
    BeginsEarly("RenewCertificate", &RenewalService::RenewCertificate);
  }

  grpc::ServerUnaryReactor* RenewCertificate(grpc::CallbackServerContext* context,
                                             const v1::RenewCertificateRequest* request,
                                             v1::RenewCertificateResponse* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const absl::StatusOr<std::string> name = NameToRenew(*context);
    const auto finish = [this, reactor, caller = CallerOf(*context)](const absl::Status& status) {
      if (audit_ != nullptr) audit_->Add({caller, "RenewCertificate", caller.name, status});
      reactor->Finish(wire::ToGrpcStatus(status));
    };
    if (!name.ok()) {
      finish(name.status());
      return reactor;
    }
    desk_.Ask({.certificate_request = request->certificate_request(), .name = *name},
              [finish, response](absl::StatusOr<CertificateDesk::Issued> issued) {
                if (issued.ok()) response->set_certificate(std::move(issued->certificate_pem));
                finish(issued.status());
              });
    return reactor;
  }

 private:
  static absl::StatusOr<std::string> NameToRenew(const grpc::CallbackServerContext& context) {
    RETURN_IF_ERROR(access::CheckNotRevoked(context));
    const std::optional<access::Peer> peer = access::PeerOf(*context.auth_context(), nullptr);
    if (peer && IsOfClientOnly(*context.auth_context())) return peer->name;
    return absl::FailedPreconditionError(
        "only certificates of nodes, viewers and operators are renewed by a call: make an aggregator's with "
        "`tributary certs`");
  }
  static access::Caller CallerOf(const grpc::CallbackServerContext& context) {
    const std::optional<access::Peer> peer = access::PeerOf(*context.auth_context(), nullptr);
    return {peer ? peer->name : "", "certificate", wire::PeerText(context.peer()), ""};
  }

  CertificateDesk& desk_;
  access::AuditLog* const audit_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRenewalService(CertificateDesk& desk, access::AuditLog* audit) {
  return std::make_unique<RenewalService>(desk, audit);
}

}  // namespace tributary::join
