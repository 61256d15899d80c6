// Bodies of boards that want to join: whatever they hold, a name and a key come out, or a sentence that says
// what is wrong.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "aggregator/join/join_request.h"
#include "core/certificates/signing_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto request = join::ParseJoinRequest({reinterpret_cast<const char*>(data), size});
  if (!request.ok()) {
    if (request.status().message().empty()) std::abort();
    return 0;
  }
  const auto key = certificates::KeyOfSigningRequest(request->certificate_request());
  if (key.ok() ? *key == nullptr : key.status().message().empty()) std::abort();
  return 0;
}
