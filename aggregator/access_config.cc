#include "aggregator/access_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

namespace tributary::aggregator {
namespace {

constexpr const char* kNeedsTls =
    "needs certificate, key and ca in [tls]: without them nobody's name is known and everybody is admitted";

void ReadNames(const config::ConfigSection& section, std::string_view key, std::vector<std::string>& names,
               config::Help help) {
  section.Read(key, names, config::Hot(help));
  if (!std::ranges::all_of(names, config::IsName)) {
    section.Fault(key, "expected names of 1 to 128 bytes without control and hidden characters");
  }
}

access::SourceOwner ReadOwner(const config::ConfigSection& section, const std::vector<std::string>& leaves) {
  access::SourceOwner owner;
  section.ReadName("node", owner.node, config::Hot("the name on the node's certificate"));
  ReadNames(section, "sources", owner.sources,
            "required; of the site's sources, those that this node may report");
  if (owner.sources.empty()) section.Fault("sources", "is required (names of the site's sources)");
  for (const std::string& source : owner.sources) {
    if (std::ranges::count(leaves, source) > 0) continue;
    section.Fault("sources", fmt::format("\"{}\" is not one of the site's sources", source));
  }
  section.Read(
      "fusion_name", owner.fusion_name,
      config::Hot("name of the source that fuses them, if it is not the node's: [fusion] name of the node"));
  if (owner.fusion_name.empty()) return owner;
  if (!config::IsName(owner.fusion_name)) {
    section.Fault("fusion_name",
                  "expected a name of at most 128 bytes without control and hidden characters");
  } else if (std::ranges::count(leaves, owner.fusion_name) > 0) {
    section.Fault("fusion_name", fmt::format("\"{}\" is one of the site's sources", owner.fusion_name));
  }
  return owner;
}

}  // namespace

access::AccessLists ReadAccess(const config::ConfigSection& root, bool tls) {
  access::AccessLists lists;
  const config::ConfigSection section = root.Section("access");
  ReadNames(section, "operators", lists.operators,
            "certificates that may start, pause, resume, stop, delete and roll back runs, read models, and "
            "do what viewers may");
  ReadNames(section, "viewers", lists.viewers, "certificates that may watch sites and runs and list nodes");
  ReadNames(
      section, "nodes", lists.nodes,
      "certificates that may take part in runs; who owns a source may report it without being named here");
  ReadNames(
      section, "children", lists.children,
      "child aggregators: certificates that may take part in runs with the sums of their own nodes' updates; "
      "nodes too");
  ReadNames(section, "refused", lists.refused,
            "certificates that may do nothing, whatever else is said: of a stolen board");
  const bool names = std::ranges::any_of(
      std::initializer_list<std::string_view>{"operators", "viewers", "nodes", "children", "refused"},
      [&](std::string_view key) { return section.Has(key); });
  if (names && !tls) section.Fault("", kNeedsTls);
  return lists;
}

std::vector<access::SourceOwner> ReadOwners(const config::ConfigSection& site,
                                            const std::vector<std::string>& leaves, bool tls) {
  std::vector<access::SourceOwner> owners;
  std::set<std::string> names;  // by which a source may be called
  for (const config::ConfigSection& section : site.List("owner")) {
    owners.push_back(ReadOwner(section, leaves));
    const access::SourceOwner& owner = owners.back();
    if (!tls) section.Fault("", kNeedsTls);
    if (!names.insert(owner.node).second) {
      section.Fault("node", fmt::format("\"{}\" is the name of another owner, or of its fusion", owner.node));
    }
    if (owner.fusion_name.empty() || owner.fusion_name == owner.node) continue;
    if (!names.insert(owner.fusion_name).second) {
      section.Fault("fusion_name",
                    fmt::format("\"{}\" is the name of another owner, or of its fusion", owner.fusion_name));
    }
  }
  return owners;
}

}  // namespace tributary::aggregator
