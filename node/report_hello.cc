#include "node/report_hello.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/wire/hello.h"

namespace tributary::node {
namespace {

void AddSources(const NodeConfig& config, const std::vector<std::string>& classes, v1::Hello& hello) {
  std::vector<std::string> leaves;
  for (const panel::PanelConfig& panel : config.panels) {
    leaves.push_back(panel.name);
    if (config.fusion) continue;
    if (classes.empty()) {
      wire::AddSource(hello, panel.name, workload::kDimension, {panel.name});
    } else {
      wire::AddClassifier(hello, panel.name, {panel.name}, classes, {});
    }
  }
  if (config.fusion) wire::AddSource(hello, config.fusion->name, workload::kDimension, leaves);
}

}  // namespace

v1::Hello HelloOf(const NodeConfig& config, const panel::Model& model) {
  v1::Hello hello;
  hello.set_site(config.site);
  hello.set_node(config.node);
  hello.set_boot_id(wire::NewBootId());
  const nn::Provenance& provenance = panel::ProvenanceOf(model);
  hello.mutable_model()->set_name(provenance.name);
  hello.mutable_model()->set_version(provenance.version);
  hello.mutable_model()->set_sha256(absl::HexStringToBytes(provenance.sha256));
  hello.set_slot_ns(static_cast<std::uint64_t>(config.slot.ns()));
  AddSources(config, panel::ClassesOf(model), hello);
  return hello;
}

}  // namespace tributary::node
