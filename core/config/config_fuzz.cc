#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  absl::StatusOr<tributary::config::ConfigFile> file =
      tributary::config::ConfigFile::Parse(text, "fuzz.toml");
  if (!file.ok()) return 0;
  const tributary::config::ConfigSection root = file->Root();
  root.RequiredText("a");
  root.Integer("b", 1, {.min = 0, .max = 9});
  root.Real("c", 1.0);
  root.Texts("d");
  root.Section("e").Boolean("f", false);
  for (const tributary::config::ConfigSection& item : root.List("g")) item.Choice("h", "x", {"x", "y"});
  (void)file->Finish();
  return 0;
}
