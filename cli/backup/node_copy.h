// A copy of what a node keeps, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::cli {

struct CopiedNode {
  std::vector<std::string> parts;  // "certificate", "learner's state", "spool"
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t frames = 0;  // of the spool's folder
  std::uint64_t tuples = 0;
  std::vector<std::string> notes;  // what was left out, for the operator
};

// Copies what the configuration of a node names: certificate, key and CA of [tls], the state of [federation],
// the frames in spool_dir, and the configuration itself. The node may run meanwhile. Files that it replaces
// as a whole are copied as a whole. From the spool it takes the frames that are whole on the disk. What the
// node removes meanwhile was acknowledged or dropped, and is left out with all that is older. SHA256SUMS has
// the checksum of each file; every file is read back and compared.
//
// Works in `to`.partial, and puts the whole in place at the end. Errors, without `to`: those of the
// configuration (InvalidArgument, and as ReadFile); NotFound: it names nothing that a node keeps;
// FailedPrecondition: `to` is there and not empty, or `to`.partial is no copy; DataLoss: the learner's state
// is damaged; FailedPrecondition: certificate and key do not fit, since somebody is replacing them.
absl::StatusOr<CopiedNode> BackUpNode(const std::string& config, const std::string& to);

// Puts everything where the configuration says. Replaces nothing: a file that is there must have the same
// bytes. As root each file gets the owner of its folder. Errors, before anything is written: NotFound or
// DataLoss, `from` is not a whole copy; AlreadyExists, another file is in the way; FailedPrecondition: the
// node runs, or the configuration has no place for a part. A restore that broke off is repeated.
absl::StatusOr<CopiedNode> RestoreNode(const std::string& from, const std::string& config);

}  // namespace tributary::cli
