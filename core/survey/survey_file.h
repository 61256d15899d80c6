// The survey file of a hall (docs/ranges.md): TOML, every fault with file, line and key.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/scene/survey.h"

namespace tributary::survey {

// `path` is used in messages. Errors: InvalidArgument with one line per fault.
absl::StatusOr<scene::Survey> ParseSurvey(std::string_view text, std::string_view path);

// The survey of this file; empty: that of the "lias" recordings (deploy/examples/survey.toml), which is built
// in. Errors: as ConfigFile::Read and ParseSurvey.
absl::StatusOr<scene::Survey> ReadSurvey(const std::string& path);

// The text of deploy/examples/survey.toml.
extern const std::string_view kExampleSurvey;

}  // namespace tributary::survey
