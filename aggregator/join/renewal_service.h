// How a name renews its certificate, over gRPC with the one that it has.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "aggregator/access/audit_log.h"
#include "aggregator/join/certificate_desk.h"

namespace tributary::join {

// CertificateService. The desk and the audit log (null: none) outlive every call.
std::unique_ptr<grpc::Service> MakeRenewalService(CertificateDesk& desk, access::AuditLog* audit);

}  // namespace tributary::join
