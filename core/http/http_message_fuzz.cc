// Any request target: parsed or refused, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/http/http_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  (void)tributary::http::ParseHttpTarget(std::string_view(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
