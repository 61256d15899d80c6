// Keys, certificates and records, which root often writes for a daemon: in a folder whose owner may put a
// link in their place.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/replaced_file.h"

namespace tributary::runtime {

// All refuse a link, a device, a pipe and a socket at `path`: FailedPrecondition. Other errors as
// WriteFileAtomically, CheckFolderOf and ReadFile.
absl::Status WritePlainFile(const std::string& path, std::string_view content, mode_t mode,
                            FileOwner owner = FileOwner::kWriter);
absl::Status CheckPlainFile(const std::string& path);
absl::StatusOr<std::string> ReadPlainFile(const std::string& path, std::size_t max_bytes);

// open(2) with these flags.
absl::StatusOr<Descriptor> OpenPlainFile(const std::string& path, int flags, mode_t mode = 0600);

}  // namespace tributary::runtime
