// Which roles each call of the aggregator takes, by gRPC and by HTTP: one table for all of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace tributary::access {

enum class Role : std::uint8_t {
  kStranger,  // everybody who reaches the port
  kJoiner,    // has a token that lets boards join
  kAnyone,    // a certificate of the CA that is not refused
  kReporter,  // owns a source of some site
  kNode,      // takes part in runs
  kChild,     // a node whose updates may be the sums of its own nodes' updates
  kViewer,    // watches sites and runs
  kOperator,  // controls runs and reads models; also a viewer
};

class RoleSet {
 public:
  constexpr RoleSet(std::initializer_list<Role> roles = {}) {
    for (const Role role : roles) Add(role);
  }
  constexpr void Add(Role role) { bits_ |= Bit(role); }
  constexpr bool Has(Role role) const { return (bits_ & Bit(role)) != 0; }
  constexpr bool HasAnyOf(RoleSet others) const { return (bits_ & others.bits_) != 0; }

  friend constexpr bool operator==(RoleSet, RoleSet) = default;

 private:
  static constexpr unsigned Bit(Role role) { return 1U << static_cast<unsigned>(role); }
  unsigned bits_ = 0;
};

struct CallRule {
  // "/package.Service/Method", as HTTP/2 carries it; of the HTTP interface method and pattern:
  // "POST /api/v1/runs/{run}/pause".
  std::string_view path;
  RoleSet roles;  // any of them is enough
};

inline constexpr std::string_view kReportPath = "/tributary.v1.FusionService/Report";
inline constexpr std::string_view kWatchPath = "/tributary.v1.FusionService/Watch";
inline constexpr std::string_view kReflectionPath =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// Every call that the aggregator serves.
std::span<const CallRule> CallTable();
// Null: there is no such call.
const CallRule* FindCall(std::string_view path);
// What messages call it: "Report" by gRPC, "GET /api/v1/runs" by HTTP.
std::string_view NameOf(std::string_view path);

}  // namespace tributary::access
