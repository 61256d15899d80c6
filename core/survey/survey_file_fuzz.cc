// Any text is refused or gives a survey whose columns lie in a row.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/survey/survey_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto survey = tributary::survey::ParseSurvey(text, "fuzz.toml");
  if (!survey.ok()) return 0;
  for (std::size_t anchor = 0; anchor < survey->anchors_m.size(); ++anchor) {
    for (std::size_t tag = 0; tag < survey->tags_m.size(); ++tag) {
      if (survey->Column(anchor, tag) >= survey->ranges()) std::abort();
    }
    for (const double coordinate : survey->anchors_m[anchor]) {
      if (!std::isfinite(coordinate)) std::abort();
    }
  }
  return 0;
}
