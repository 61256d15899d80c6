#include "aggregator/publish/unknown_site.h"

#include <fmt/format.h>

#include "absl/strings/str_join.h"

namespace tributary::publish {

absl::Status UnknownSite(std::string_view name, const std::vector<std::string>& known) {
  return absl::NotFoundError(fmt::format("\"{}\" is not a site of this aggregator, which has {}", name,
                                         known.empty() ? "no sites" : absl::StrJoin(known, ", ")));
}

}  // namespace tributary::publish
