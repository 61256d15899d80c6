#include "aggregator/access/call_gate.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/pem.h"
#include "core/wire/peer.h"

namespace tributary::access {
namespace {

std::string_view PathIn(const grpc_metadata* metadata, std::size_t count) {
  for (const grpc_metadata& each : std::span(metadata, count)) {
    if (grpc_slice_str_cmp(each.key, ":path") != 0) continue;
    return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(each.value)), GRPC_SLICE_LENGTH(each.value)};
  }
  return {};
}

std::string_view FirstProperty(const grpc_auth_context* context, const char* name) {
  grpc_auth_property_iterator found = grpc_auth_context_find_properties_by_name(context, name);
  const grpc_auth_property* const property = grpc_auth_property_iterator_next(&found);
  return property == nullptr ? std::string_view() : std::string_view(property->value, property->value_length);
}

// Empty without TLS.
std::string_view CertificatePem(const grpc::AuthContext& context) {
  const auto pem = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return pem.empty() ? std::string_view() : std::string_view(pem.front().data(), pem.front().size());
}

struct Gate {
  AccessControl& control;
  const BegunCall begun;
};

// On the thread that has read its headers, at the beginning of each call.
void Judge(void* state, grpc_auth_context* context, const grpc_metadata* metadata, std::size_t count,
           grpc_process_auth_metadata_done_cb done, void* call) {
  const Gate& gate = *static_cast<Gate*>(state);
  AccessControl& access = gate.control;
  const Peer peer{std::string(FirstProperty(context, GRPC_X509_CN_PROPERTY_NAME)),
                  access.certificates().IdOf(FirstProperty(context, GRPC_X509_PEM_CERT_PROPERTY_NAME))};
  const grpc::Status status = wire::ToGrpcStatus(access.Admit(PathIn(metadata, count), peer));
  gate.begun(peer.name, status.ok());
  done(call, nullptr, 0, nullptr, 0, static_cast<grpc_status_code>(status.error_code()),
       status.error_message().c_str());
}

}  // namespace

std::optional<Peer> PeerOf(const grpc::AuthContext& context, AccessControl* control) {
  std::optional<std::string> name = wire::PeerCertificateName(context);
  if (!name) return std::nullopt;
  Peer peer{*std::move(name)};
  const std::string_view pem = CertificatePem(context);
  if (control != nullptr && !pem.empty()) peer.certificate = control->certificates().IdOf(pem);
  return peer;
}

std::int64_t CertificateExpiryUnixNs(const grpc::AuthContext& context) {
  const std::string_view pem = CertificatePem(context);
  if (pem.empty()) return 0;
  const std::vector<config::Certificate> certificates = config::CertificatesIn(pem);
  if (certificates.empty()) return 0;
  return config::UnixSeconds(X509_get0_notAfter(certificates.front().get())) * 1'000'000'000;
}

grpc_auth_metadata_processor GateOf(AccessControl& control, BegunCall begun) {
  return {Judge, [](void* gate) { delete static_cast<Gate*>(gate); }, new Gate{control, std::move(begun)}};
}

}  // namespace tributary::access
