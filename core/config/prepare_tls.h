// [tls] of a daemon, judged before it starts.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "core/config/config.h"
#include "core/config/tls.h"

namespace tributary::config {

// Loads the files of [tls] and records what is wrong with them at their keys. `names` are the keys and values
// by which this process calls itself to an aggregator: each must be the certificate's common name, which is
// what an aggregator compares. Nothing if there is a fault.
using NamedKey = std::pair<std::string_view, std::string_view>;  // key, value
std::optional<TlsMaterial> PrepareTls(const ConfigFile& file, const TlsFiles& files,
                                      std::initializer_list<NamedKey> names);

}  // namespace tributary::config
