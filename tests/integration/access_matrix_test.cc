// Who may make which call: every call, by every role, in the own name and in another's.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/link/channel.h"
#include "core/wire/hello.h"
#include "tests/support/access.h"
#include "tests/support/raw_call.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/fusion.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::testing {
namespace {

// One certificate for each role, one that is refused and one that nobody has named.
const std::vector<std::string> kCallers = {"south", "board",  "learner", "hall",
                                           "wall",  "laptop", "thief",   "stranger"};
using CallerNames = std::set<std::string>;

const CallerNames kMayReport = {"south", "board"};
const CallerNames kMayLearn = {"learner", "hall"};
const CallerNames kMaySum = {"hall"};
const CallerNames kMayView = {"wall", "laptop"};
const CallerNames kMayOperate = {"laptop"};
const CallerNames kMayAskWho = {"south", "board", "learner", "hall", "wall", "laptop"};
const CallerNames kMayAskHealth = {"south", "board", "learner", "hall", "wall", "laptop", "stranger"};

struct CallCase {
  std::string service;
  std::string method;
  CallerNames may;
  bool names_a_node = false;  // the request says for whom it speaks
  bool partial_sums = false;  // the request says that updates sum up those of other nodes

  std::string path() const { return "/" + service + "/" + method; }
  std::string name() const { return method + (partial_sums ? "OfPartialSums" : ""); }
};
void PrintTo(const CallCase& shown, std::ostream* out) { *out << shown.name(); }

const std::vector<CallCase> kAccessCalls = {
    {"tributary.v1.FusionService", "Report", kMayReport, true},
    {"tributary.v1.FusionService", "Watch", kMayView},
    {"tributary.v1.FleetService", "ListNodes", kMayAskWho},
    {"tributary.v1.FederationService", "Participate", kMayLearn, true},
    {"tributary.v1.FederationService", "Participate", kMaySum, true, true},
    {"tributary.v1.FederationService", "FetchModel", kMayLearn, true},
    {"tributary.v1.FederationService", "SubmitUpdate", kMayLearn, true},
    {"tributary.v1.FederationService", "SubmitUpdate", kMaySum, true, true},
    {"tributary.v1.FederationService", "DeclineTask", kMayLearn, true},
    {"tributary.v1.FederationService", "AdvertiseKeys", kMayLearn, true},
    {"tributary.v1.FederationService", "ShareKeys", kMayLearn, true},
    {"tributary.v1.FederationService", "Unmask", kMayLearn, true},
    {"tributary.v1.RunService", "StartRun", kMayOperate},
    {"tributary.v1.RunService", "ListRuns", kMayView},
    {"tributary.v1.RunService", "GetRun", kMayView},
    {"tributary.v1.RunService", "WatchRun", kMayView},
    {"tributary.v1.RunService", "PauseRun", kMayOperate},
    {"tributary.v1.RunService", "ResumeRun", kMayOperate},
    {"tributary.v1.RunService", "StopRun", kMayOperate},
    {"tributary.v1.RunService", "DeleteRun", kMayOperate},
    {"tributary.v1.ModelService", "ListModels", kMayView},
    {"tributary.v1.ModelService", "ReadModel", kMayOperate},
    {"tributary.v1.ModelService", "RollBackModel", kMayOperate},
    {"tributary.v1.CertificateService", "RenewCertificate", kMayAskHealth},
    {"grpc.health.v1.Health", "Check", kMayAskHealth},
    {"grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo", kMayView},
};

// A request that is good but for the run, which does not exist.
std::string AccessRequest(const CallCase& call, const std::string& node) {
  const std::string& method = call.method;
  if (method == "Report") {
    v1::ReportRequest request;
    request.mutable_hello()->set_site("room");
    request.mutable_hello()->set_node(node);
    request.mutable_hello()->set_boot_id(wire::NewBootId());
    const std::string leaf = node == "board" ? "east" : "south";
    wire::AddSource(*request.mutable_hello(), leaf, 2, {leaf});
    return request.SerializeAsString();
  }
  if (method == "Watch") {
    v1::WatchRequest request;
    request.set_site("room");
    return request.SerializeAsString();
  }
  if (method == "Participate") {
    v1::ParticipateRequest request;
    request.set_node(node);
    request.set_boot_id(wire::NewBootId());
    request.add_workloads("self_supervised");
    request.set_partial_sums(call.partial_sums);
    return request.SerializeAsString();
  }
  if (method == "FetchModel") {
    v1::FetchModelRequest request;
    request.set_run("none");
    request.set_node(node);
    return request.SerializeAsString();
  }
  if (method == "SubmitUpdate") {
    v1::SubmitUpdateRequest request;
    v1::UpdateHeader& header = *request.mutable_header();
    header.set_run("none");
    header.set_round(1);
    header.set_node(node);
    header.set_boot_id(wire::NewBootId());
    header.set_schema_sha256(std::string(32, 's'));
    header.set_base_model_sha256(std::string(32, 'm'));
    header.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
    header.set_element_count(1);
    header.set_sample_count(1);
    if (call.partial_sums) header.add_contributors()->set_node("leaf");
    return request.SerializeAsString();
  }
  if (method == "DeclineTask") {
    v1::DeclineTaskRequest request;
    request.set_run("none");
    request.set_node(node);
    request.set_boot_id(wire::NewBootId());
    return request.SerializeAsString();
  }
  if (method == "AdvertiseKeys") {
    v1::AdvertiseKeysRequest request;
    request.set_run("none");
    request.set_node(node);
    for (auto* key :
         {request.mutable_cipher_key(), request.mutable_mask_key(), request.mutable_seed_digest()})
      *key = std::string(32, 'k');
    return request.SerializeAsString();
  }
  if (method == "ShareKeys") {
    v1::ShareKeysRequest request;
    request.set_run("none");
    request.set_node(node);
    return request.SerializeAsString();
  }
  if (method == "Unmask") {
    v1::UnmaskRequest request;
    request.set_run("none");
    request.set_node(node);
    return request.SerializeAsString();
  }
  if (method == "GetRun") {
    v1::GetRunRequest request;
    request.set_run("none");
    return request.SerializeAsString();
  }
  return "";  // names no run: none is called so
}

// What some calls answer instead of a status.
bool RefusedByAnswer(const std::string& method, const std::string& answer) {
  const auto says_so = [](const std::string& message) {
    return message.find("with the certificate of") != std::string::npos;
  };
  if (method == "SubmitUpdate") {
    v1::SubmitUpdateResponse response;
    return response.ParseFromString(answer) && (response.reason() == v1::SUBMIT_REFUSAL_IDENTITY ||
                                                response.reason() == v1::SUBMIT_REFUSAL_CONTRIBUTORS);
  }
  if (method != "DeclineTask" && method != "AdvertiseKeys" && method != "ShareKeys" && method != "Unmask") {
    return false;
  }
  // The four answers have the same fields.
  v1::DeclineTaskResponse response;
  return response.ParseFromString(answer) && !response.accepted() && says_so(response.message());
}

class AccessMatrixTest : public ::testing::TestWithParam<CallCase> {
 protected:
  void SetUp() override { ASSERT_TRUE(guarded_.Start()) << guarded_.aggregator().process().Log(); }

  // Whether the call gets past the checks of who makes it.
  bool Admitted(const CallCase& call, const std::string& caller, const std::string& node) {
    // Nothing is fused: a watcher that is admitted waits.
    const auto limit = call.method == "Watch" ? std::chrono::seconds(2) : std::chrono::seconds(20);
    RawCall made(link::MakeChannel(guarded_.address(), guarded_.certificates().Material(caller)), call.path(),
                 AccessRequest(call, node), call.method != "Report", limit);
    said_.clear();
    if (const auto answer = made.Read()) return !RefusedByAnswer(call.method, *answer);
    said_ = made.End().error_message();
    return made.End().error_code() != grpc::StatusCode::PERMISSION_DENIED;
  }
  // Calls that were refused for lack of a role.
  double Refused() {
    const std::string metrics = guarded_.aggregator().Metrics();
    return MetricValue(metrics, "tributary_calls_refused_total{reason=\"role\"}") +
           MetricValue(metrics, "tributary_calls_refused_total{reason=\"refused\"}");
  }
  // One cell of the matrix: who calls, and for whom.
  void Check(const std::string& caller, const std::string& node) {
    const CallCase& call = GetParam();
    const bool has_role = call.may.contains(caller);
    const double before = Refused();
    EXPECT_EQ(Admitted(call, caller, node), has_role && node == caller)
        << caller << " as " << node << ": " << said_;
    EXPECT_EQ(Refused() - before, has_role ? 0 : 1) << caller << " as " << node << " by its role";
  }

  ScratchFolder folder_;
  GuardedAggregator guarded_{folder_};
  std::string said_;
};

TEST_P(AccessMatrixTest, AdmitsWhoHasTheRole) {
  for (const std::string& caller : kCallers) Check(caller, caller);
}

INSTANTIATE_TEST_SUITE_P(Calls, AccessMatrixTest, ::testing::ValuesIn(kAccessCalls),
                         [](const auto& call) { return call.param.name(); });

// The calls that say for which node they speak.
class AccessInAnothersNameTest : public AccessMatrixTest {};

TEST_P(AccessInAnothersNameTest, IsRefusedToEverybody) {
  for (const std::string& caller : kCallers) Check(caller, caller == "south" ? "board" : "south");
}

std::vector<CallCase> CallsOfNodes() {
  std::vector<CallCase> calls = kAccessCalls;
  std::erase_if(calls, [](const CallCase& call) { return !call.names_a_node; });
  return calls;
}

INSTANTIATE_TEST_SUITE_P(Calls, AccessInAnothersNameTest, ::testing::ValuesIn(CallsOfNodes()),
                         [](const auto& call) { return call.param.name(); });

}  // namespace
}  // namespace tributary::testing
