#include "cli/model/graph_arguments.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "cli/failure.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::cli {

absl::StatusOr<std::pair<std::string, std::string>> GraphAssignment(const std::string& option,
                                                                    const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return UsageError(absl::StrFormat("%s \"%s\": expected NAME=VALUE", option, runtime::Printable(text)));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

absl::StatusOr<std::map<std::string, std::int64_t, std::less<>>> GraphDimensions(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t, std::less<>> dimensions;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(const auto assignment, GraphAssignment("--dimension", text));
    std::int64_t size = 0;
    if (!absl::SimpleAtoi(assignment.second, &size) || size < 1) {
      return UsageError(
          absl::StrFormat("--dimension \"%s\": expected a whole number from 1 on", runtime::Printable(text)));
    }
    dimensions[assignment.first] = size;
  }
  return dimensions;
}

}  // namespace tributary::cli
