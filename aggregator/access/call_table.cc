#include "aggregator/access/call_table.h"

#include <algorithm>

namespace tributary::access {
namespace {

constexpr RoleSet kStranger = {Role::kStranger};
constexpr RoleSet kJoiner = {Role::kJoiner};
constexpr RoleSet kAnyone = {Role::kAnyone};
constexpr RoleSet kReporter = {Role::kReporter};
constexpr RoleSet kNode = {Role::kNode};
constexpr RoleSet kViewer = {Role::kViewer};
constexpr RoleSet kOperator = {Role::kOperator};
// A node compares its clock and site with the aggregator's. It is told of itself only.
constexpr RoleSet kViewerOrNode = {Role::kViewer, Role::kNode, Role::kReporter};

constexpr CallRule kCalls[] = {
    {kReportPath, kReporter},
    {kWatchPath, kViewer},
    {"/tributary.v1.FleetService/ListNodes", kViewerOrNode},

    {"/tributary.v1.FederationService/Participate", kNode},
    {"/tributary.v1.FederationService/FetchModel", kNode},
    {"/tributary.v1.FederationService/SubmitUpdate", kNode},
    {"/tributary.v1.FederationService/DeclineTask", kNode},
    {"/tributary.v1.FederationService/AdvertiseKeys", kNode},
    {"/tributary.v1.FederationService/ShareKeys", kNode},
    {"/tributary.v1.FederationService/Unmask", kNode},

    {"/tributary.v1.RunService/StartRun", kOperator},
    {"/tributary.v1.RunService/ListRuns", kViewer},
    {"/tributary.v1.RunService/GetRun", kViewer},
    {"/tributary.v1.RunService/WatchRun", kViewer},
    {"/tributary.v1.RunService/PauseRun", kOperator},
    {"/tributary.v1.RunService/ResumeRun", kOperator},
    {"/tributary.v1.RunService/StopRun", kOperator},
    {"/tributary.v1.RunService/DeleteRun", kOperator},

    {"/tributary.v1.ModelService/ListModels", kViewer},
    {"/tributary.v1.ModelService/ReadModel", kOperator},
    {"/tributary.v1.ModelService/RollBackModel", kOperator},

    // For the name on the certificate that is shown, and for no other.
    {"/tributary.v1.CertificateService/RenewCertificate", kAnyone},

    // Load balancers ask; the answer says only whether the process serves.
    {"/grpc.health.v1.Health/Check", kAnyone},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kViewer},

    // Whether the process answers; the page, which holds no data; who asks, and how to log in and out.
    {"GET /healthz", kStranger},
    {"GET /", kStranger},
    {"GET /assets/", kStranger},
    {"GET /api/v1/session", kStranger},
    {"POST /api/v1/session", kStranger},
    {"DELETE /api/v1/session", kStranger},

    // The authority's certificate is no secret: a board compares it with its token before it sends that.
    {"GET /api/v1/ca", kStranger},
    {"POST /api/v1/join", kJoiner},

    {"GET /metrics", kViewer},
    {"GET /readyz", kViewer},
    {"GET /api/v1/sites", kViewer},
    {"GET /api/v1/sites/", kViewer},
    {"GET /api/v1/events", kViewer},
    {"GET /api/v1/nodes", kViewer},
    {"GET /api/v1/runs", kViewer},
    {"GET /api/v1/runs/", kViewer},
    {"GET /api/v1/models", kViewer},

    {"POST /api/v1/runs", kOperator},
    {"POST /api/v1/runs/{run}/pause", kOperator},
    {"POST /api/v1/runs/{run}/resume", kOperator},
    {"POST /api/v1/runs/{run}/stop", kOperator},
    {"DELETE /api/v1/runs/{run}", kOperator},
    {"GET /api/v1/models/{digest}.safetensors", kOperator},
    {"GET /api/v1/models/{digest}.onnx", kOperator},
    {"POST /api/v1/models/rollback", kOperator},
};

}  // namespace

std::span<const CallRule> CallTable() { return kCalls; }

const CallRule* FindCall(std::string_view path) {
  const auto* found = std::ranges::find(kCalls, path, &CallRule::path);
  return found == std::end(kCalls) ? nullptr : found;
}

std::string_view NameOf(std::string_view path) {
  return path.starts_with('/') ? path.substr(path.rfind('/') + 1) : path;
}

}  // namespace tributary::access
