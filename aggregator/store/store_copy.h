// Copies a store, for a backup and back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace tributary::store {

struct CopiedStore {
  std::size_t runs = 0;
  std::size_t files = 0;    // beside the database
  std::uint64_t bytes = 0;  // of all, with the database
};

// Called after each file, with how many are done and how many there are. May be empty.
using CopyProgress = std::function<void(std::size_t done, std::size_t all)>;

// Makes `to` a copy of the store `from` at one moment, also while an aggregator works with it: the database
// as SQLite copies it, and the files that this copy names. It opens the files first, so that a round which
// ends meanwhile takes none away. A file that appeared and went within the copy of the database takes another
// look. Every file is read back and compared with its checksum. The copy is a store itself.
//
// Works in `to`.partial, and puts the whole in place at the end: after a crash `to` is absent or complete.
// What an earlier attempt left in `to`.partial is replaced.
//
// Errors, without a change to `from` and without `to`: NotFound: there is no store. FailedPrecondition: `to`
// is there and not empty; another release has written the store; `to`.partial is no copy. DataLoss: the store
// is damaged. ResourceExhausted: the disk is full. Unavailable: rounds end faster than their files can be
// copied; input or output failed.
absl::StatusOr<CopiedStore> CopyStore(const std::string& from, const std::string& to,
                                      const CopyProgress& progress = {});

}  // namespace tributary::store
