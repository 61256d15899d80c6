// Any file is refused or gives a list, without a crash. The input is both the list and its CA: each reader
// skips what is for the other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/config/revocation_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::config;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const absl::StatusOr<CertificateId> id = CertificateIdOf(text);
  const absl::StatusOr<RevocationList> list = RevocationList::Parse(text, text);
  if (!list.ok()) return 0;
  // The same list again is never older.
  if (!list->MayReplace(*list).ok()) std::abort();
  if (id.ok() && list->Lists(*id) && list->size() == 0) std::abort();
  return 0;
}
