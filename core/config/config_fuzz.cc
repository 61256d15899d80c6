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
  std::string text_value;
  std::vector<std::string> texts;
  int integer = 1;
  double real = 1;
  bool flag = false;
  root.Read("a", text_value, tributary::config::Required(""));
  root.Read("b", integer, {.min = 0, .max = 9});
  root.Read("c", real);
  root.Read("d", texts);
  root.Section("e").Read("f", flag);
  for (const tributary::config::ConfigSection& item : root.List("g")) item.Choose("h", flag, {"x", "y"});
  (void)file->Finish();
  return 0;
}
