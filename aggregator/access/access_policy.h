// Who may do what, by the names on certificates. What a name may do follows from the configuration alone.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/access/call_table.h"

namespace tributary::access {

// The names in [access].
struct AccessLists {
  std::vector<std::string> nodes;
  std::vector<std::string> children;  // nodes too
  std::vector<std::string> viewers;
  std::vector<std::string> operators;
  std::vector<std::string> refused;  // may do nothing, whatever the other lists say
};

// A [[site.owner]]: the sources of a site that a node reports.
struct SourceOwner {
  std::string node;
  std::vector<std::string> sources;  // leaf sources of the site
  std::string fusion_name;           // what the node calls their fusion; empty: by its own name
};

struct SiteOwnership {
  std::string site;
  std::vector<std::string> leaves;
  std::vector<SourceOwner> owners;
};

// A leaf source belongs to the nodes that an owner entry names for it, or else to the node of its own name.
// Immutable, so any thread may ask.
class AccessPolicy {
 public:
  AccessPolicy() = default;  // nobody may do anything
  AccessPolicy(const AccessLists& lists, const std::vector<SiteOwnership>& sites);

  // None for a refused name.
  RoleSet RolesOf(const std::string& name) const;
  bool Refuses(const std::string& name) const { return refused_.contains(name); }
  // PermissionDenied with what to configure. A call that no service has: Unimplemented.
  absl::Status CheckCall(std::string_view path, const std::string& name) const;
  // Whether updates of this name may be partial sums. PermissionDenied with what to configure.
  absl::Status CheckChild(const std::string& name) const;

  // Whether the node may report a source of this name with these leaves. The name must be that of a leaf
  // whose first owner the node is, its fusion_name, or the node's own name. PermissionDenied with what to
  // configure.
  absl::Status CheckSource(const std::string& site, const std::string& node, const std::string& source,
                           const std::vector<std::string>& leaves) const;

 private:
  struct Site {
    std::unordered_map<std::string, std::vector<std::string>> owners;  // by leaf, the first one first
    std::unordered_map<std::string, std::string> fusions;              // node by fusion_name
  };

  std::set<std::string> refused_;
  std::unordered_map<std::string, RoleSet> roles_;
  std::map<std::string, Site> sites_;
};

}  // namespace tributary::access
