#include "aggregator/access/access_policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::access {
namespace {

constexpr std::string_view kReload = "of the aggregator's configuration, then reload it";

absl::Status Denied(std::string_view message) {
  return absl::PermissionDeniedError(absl::string_view(message.data(), message.size()));
}

// What gives a name one of the roles.
std::string Remedy(RoleSet roles) {
  if (roles.Has(Role::kJoiner)) {
    return "no certificate is enough: send a token of `tributary token invite` as Authorization: Bearer "
           "TOKEN, as `tributary join` does";
  }
  if (roles.Has(Role::kViewer) && roles.Has(Role::kNode)) {
    return fmt::format(
        "add the name to nodes in [access] if it learns, to viewers if it watches, or give it a source with "
        "[[site.owner]] {}",
        kReload);
  }
  if (roles.Has(Role::kViewer)) return fmt::format("add the name to viewers in [access] {}", kReload);
  if (roles.Has(Role::kOperator)) return fmt::format("add the name to operators in [access] {}", kReload);
  if (roles.Has(Role::kNode)) return fmt::format("add the name to nodes in [access] {}", kReload);
  return fmt::format("it owns no source; give it one with [[site.owner]] {}", kReload);
}

absl::Status NotTheOwner(const std::string& site, const std::string& node, const std::string& source,
                         const std::string& owner) {
  return Denied(
      fmt::format("source \"{}\" of site \"{}\" belongs to node \"{}\", not to \"{}\": name its owner in "
                  "[[site.owner]] {}",
                  source, site, owner, node, kReload));
}

}  // namespace

AccessPolicy::AccessPolicy(const AccessLists& lists, const std::vector<SiteOwnership>& sites)
    : refused_(lists.refused.begin(), lists.refused.end()) {
  for (const std::string& name : lists.nodes) roles_[name].Add(Role::kNode);
  for (const std::string& name : lists.children) {
    roles_[name].Add(Role::kChild);
    roles_[name].Add(Role::kNode);
  }
  for (const std::string& name : lists.viewers) roles_[name].Add(Role::kViewer);
  for (const std::string& name : lists.operators) {
    roles_[name].Add(Role::kOperator);
    roles_[name].Add(Role::kViewer);
  }
  for (const SiteOwnership& each : sites) {
    Site& site = sites_[each.site];
    for (const SourceOwner& owner : each.owners) {
      for (const std::string& leaf : owner.sources) site.owners[leaf].push_back(owner.node);
      if (!owner.fusion_name.empty()) site.fusions[owner.fusion_name] = owner.node;
    }
    for (const std::string& leaf : each.leaves) {
      std::vector<std::string>& owners = site.owners[leaf];
      if (owners.empty()) owners.push_back(leaf);
      for (const std::string& owner : owners) roles_[owner].Add(Role::kReporter);
    }
  }
}

RoleSet AccessPolicy::RolesOf(const std::string& name) const {
  if (name.empty() || Refuses(name)) return {};
  const auto found = roles_.find(name);
  RoleSet roles = found == roles_.end() ? RoleSet() : found->second;
  roles.Add(Role::kAnyone);
  return roles;
}

absl::Status AccessPolicy::CheckCall(std::string_view path, const std::string& name) const {
  const CallRule* call = FindCall(path);
  if (call == nullptr) return absl::UnimplementedError("");  // as gRPC answers
  if (RolesOf(name).HasAnyOf(call->roles)) return absl::OkStatus();
  if (name.empty()) return Denied("the certificate has no common name: make one with `tributary certs`");
  if (Refuses(name)) {
    return Denied(fmt::format("\"{}\" is in refused in [access] of the aggregator's configuration", name));
  }
  return Denied(fmt::format("\"{}\" may not call {}: {}", name, NameOf(path), Remedy(call->roles)));
}

absl::Status AccessPolicy::CheckChild(const std::string& name) const {
  if (RolesOf(name).Has(Role::kChild)) return absl::OkStatus();
  return Denied(
      fmt::format("\"{}\" may not send partial sums: if it is a child aggregator, add the name to children "
                  "in [access] {}",
                  name, kReload));
}

absl::Status AccessPolicy::CheckSource(const std::string& site_name, const std::string& node,
                                       const std::string& source,
                                       const std::vector<std::string>& leaves) const {
  const auto found = sites_.find(site_name);
  if (found == sites_.end()) return Denied(fmt::format("\"{}\" is not a site", site_name));
  const Site& site = found->second;
  for (const std::string& leaf : leaves) {
    const auto owners = site.owners.find(leaf);
    if (owners == site.owners.end()) {
      return Denied(fmt::format("\"{}\" is not one of the sources of site \"{}\"", leaf, site_name));
    }
    if (std::ranges::count(owners->second, node) == 0) {
      return NotTheOwner(site_name, node, leaf, owners->second.front());
    }
  }
  if (const auto leaf = site.owners.find(source); leaf != site.owners.end()) {
    const std::string& first = leaf->second.front();
    return first == node ? absl::OkStatus() : NotTheOwner(site_name, node, source, first);
  }
  if (const auto fusion = site.fusions.find(source); fusion != site.fusions.end()) {
    return fusion->second == node ? absl::OkStatus() : NotTheOwner(site_name, node, source, fusion->second);
  }
  if (source == node) return absl::OkStatus();
  return Denied(
      fmt::format("source \"{}\" of site \"{}\" is not known: use the node's name \"{}\", or set "
                  "fusion_name in its [[site.owner]] {}",
                  source, site_name, node, kReload));
}

}  // namespace tributary::access
