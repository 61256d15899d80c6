#include "aggregator/access/access_policy.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "grpc/health/v1/health.pb.h"
#include "tributary/v1/certificate.pb.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/fusion.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::access {
namespace {

using ::testing::HasSubstr;

TEST(CallTableTest, HasEveryCallOfEveryServiceAndNoOther) {
  std::set<std::string> expected = {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const google::protobuf::FileDescriptor* file :
       {v1::Hello::descriptor()->file(), v1::Node::descriptor()->file(),
        v1::ParticipateRequest::descriptor()->file(), v1::Run::descriptor()->file(),
        v1::RenewCertificateRequest::descriptor()->file(),
        grpc::health::v1::HealthCheckRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int j = 0; j < service.method_count(); ++j) {
        expected.insert("/" + service.full_name() + "/" + service.method(j)->name());
      }
    }
  }
  std::set<std::string> listed;
  for (const CallRule& rule : CallTable()) {
    if (!rule.path.starts_with("/")) continue;  // of HTTP: HttpAccessTest
    EXPECT_TRUE(listed.emplace(rule.path).second) << rule.path;
    EXPECT_FALSE(rule.roles == RoleSet()) << rule.path;
  }
  EXPECT_EQ(listed, expected);
}

class AccessPolicyTest : public ::testing::Test {
 protected:
  absl::Status Source(const std::string& node, const std::string& source,
                      const std::vector<std::string>& leaves) const {
    return policy_.CheckSource("lab", node, source, leaves);
  }

  // Leaves a to d: a and b are of "board", b also of "child"; c and d of the nodes of their names.
  const AccessPolicy policy_{
      {.nodes = {"learner"},
       .children = {"hall"},
       .viewers = {"wall"},
       .operators = {"laptop"},
       .refused = {"d"}},
      {{"lab", {"a", "b", "c", "d"}, {{"board", {"a", "b"}, "roof"}, {"child", {"b"}, ""}}}}};
};

TEST_F(AccessPolicyTest, AnOperatorIsAViewerAndNoNode) {
  EXPECT_EQ(policy_.RolesOf("laptop"), (RoleSet{Role::kAnyone, Role::kOperator, Role::kViewer}));
}

TEST_F(AccessPolicyTest, AChildIsANodeAndANodeIsNoChild) {
  EXPECT_EQ(policy_.RolesOf("hall"), (RoleSet{Role::kAnyone, Role::kChild, Role::kNode}));
  EXPECT_TRUE(policy_.CheckChild("hall").ok());
  for (const char* name : {"learner", "laptop", "c", "stranger", "d", ""}) {
    const absl::Status status = policy_.CheckChild(name);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("children in [access]")) << name;
  }
}

TEST_F(AccessPolicyTest, WhoOwnsASourceReportsAndDoesNotTakePartInRuns) {
  for (const char* owner : {"board", "child", "c"}) {
    EXPECT_EQ(policy_.RolesOf(owner), (RoleSet{Role::kAnyone, Role::kReporter})) << owner;
  }
  EXPECT_EQ(policy_.RolesOf("learner"), (RoleSet{Role::kAnyone, Role::kNode}));
}

TEST_F(AccessPolicyTest, ANameOfNobodyHasNoRoleButHealth) {
  for (const char* name : {"stranger", "a", "b"}) {
    EXPECT_EQ(policy_.RolesOf(name), RoleSet{Role::kAnyone}) << name;
  }
}

TEST_F(AccessPolicyTest, ARefusedNameMayDoNothingWhateverElseIsSaid) {
  EXPECT_EQ(policy_.RolesOf("d"), RoleSet());
  EXPECT_THAT(std::string(policy_.CheckCall(kReportPath, "d").message()), HasSubstr("refused in [access]"));
}

TEST_F(AccessPolicyTest, ACertificateWithoutANameMayDoNothing) {
  EXPECT_EQ(policy_.RolesOf(""), RoleSet());
  EXPECT_THAT(std::string(policy_.CheckCall(kWatchPath, "").message()), HasSubstr("no common name"));
}

TEST_F(AccessPolicyTest, SaysWhichListANameMustBeAddedTo) {
  const auto said = [&](const char* path) { return std::string(policy_.CheckCall(path, "x").message()); };
  EXPECT_THAT(said("/tributary.v1.RunService/StartRun"),
              HasSubstr("\"x\" may not call StartRun: add the name to "
                        "operators in [access]"));
  EXPECT_THAT(said("/tributary.v1.FusionService/Watch"), HasSubstr("viewers in [access]"));
  EXPECT_THAT(said("/tributary.v1.FederationService/Participate"), HasSubstr("nodes in [access]"));
  EXPECT_THAT(said("/tributary.v1.FleetService/ListNodes"),
              HasSubstr("nodes in [access] if it learns, to viewers if it watches"));
  EXPECT_THAT(said("/tributary.v1.FusionService/Report"), HasSubstr("[[site.owner]]"));
}

TEST_F(AccessPolicyTest, ACallOfNoServiceIsAnsweredAsGrpcDoes) {
  for (const char* path : {"", "/", "/tributary.v1.FusionService/", "/tributary.v1.RunService/RenameRun"}) {
    EXPECT_EQ(policy_.CheckCall(path, "laptop").code(), absl::StatusCode::kUnimplemented) << path;
  }
}

TEST_F(AccessPolicyTest, ALeafIsReportedByItsOwnersOnly) {
  EXPECT_TRUE(Source("board", "a", {"a"}).ok());
  EXPECT_TRUE(Source("c", "c", {"c"}).ok());
  EXPECT_FALSE(Source("c", "c", {"c", "a"}).ok());
  EXPECT_FALSE(Source("a", "a", {"a"}).ok()) << "it has another owner";
  EXPECT_FALSE(Source("child", "child", {"a"}).ok());
  EXPECT_FALSE(Source("c", "c", {"attic"}).ok()) << "no source of the site";
  EXPECT_FALSE(policy_.CheckSource("attic", "c", "c", {"c"}).ok());
}

TEST_F(AccessPolicyTest, ALeafOfSeveralOwnersBelongsByNameToTheFirst) {
  EXPECT_TRUE(Source("board", "b", {"b"}).ok());
  EXPECT_TRUE(Source("child", "child", {"b"}).ok());
  EXPECT_FALSE(Source("child", "b", {"b"}).ok());
}

TEST_F(AccessPolicyTest, AFusionHasTheNodesNameOrTheConfiguredOne) {
  EXPECT_TRUE(Source("board", "board", {"a", "b"}).ok());
  EXPECT_TRUE(Source("board", "roof", {"a", "b"}).ok());
  EXPECT_FALSE(Source("child", "roof", {"b"}).ok());
  EXPECT_FALSE(Source("board", "cellar", {"a"}).ok());
  EXPECT_FALSE(Source("board", "child", {"a"}).ok()) << "the name of another node";
}

}  // namespace
}  // namespace tributary::access
