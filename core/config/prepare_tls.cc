#include "core/config/prepare_tls.h"

#include <fmt/format.h>

#include <utility>

namespace tributary::config {

std::optional<TlsMaterial> PrepareTls(const ConfigFile& file, const TlsFiles& files,
                                      std::initializer_list<NamedKey> names) {
  if (file.HasFault("tls")) return std::nullopt;
  absl::StatusOr<TlsMaterial> tls = LoadTls(files);
  if (!tls.ok()) {
    file.Fault("tls", {{"tls.certificate", files.certificate}, {"tls.key", files.key}, {"tls.ca", files.ca}},
               tls.status());
    return std::nullopt;
  }
  for (const auto& [key, name] : names) {
    if (name.empty() || name == tls->name) continue;
    file.Fault(
        key,
        fmt::format("\"{}\" is not the name on the certificate {}, which is \"{}\"; an aggregator refuses "
                    "that: use the certificate of this node, or its name",
                    name, files.certificate, tls->name));
  }
  return *std::move(tls);
}

}  // namespace tributary::config
