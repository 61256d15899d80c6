// How a command fails: what it says and its exit status. docs/running.md has the table of all of them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tributary::cli {

// A fault of the command line that the parser of options could not see.
absl::Status UsageError(std::string_view message);

// A status that ends the command with `exit_code`, whatever its code. Wrapping it anew loses that.
absl::Status WithExitCode(absl::Status status, int exit_code);

// Ends the command with `exit_code` and without an error line: what it printed says all. OK for 0.
absl::Status AlreadyReported(int exit_code);

// WriteFileAtomically for what the command was asked to write.
absl::Status WriteOutput(const std::string& path, std::string_view content, mode_t mode = 0644);

// Call it first, before the work whose result goes to `path`. Finds what WriteOutput would find (exit status
// 73), and a path of one of the files that the command reads (64). Empty: nothing is to be written.
absl::Status CheckOutput(const std::string& path, const std::vector<std::string>& inputs = {});

// CheckOutput for a folder that the command makes of what it finds in the folder `read` ("": not in one). A
// place inside `read` is refused (64), too.
absl::Status CheckOutputFolder(const std::string& path, const std::string& read);

// By WithExitCode, or by the code of a status that arose here: 69 for Unavailable and DeadlineExceeded, 66
// for a file that cannot be read (NotFound, PermissionDenied, FailedPrecondition), 65 for content that is not
// what it is given for (InvalidArgument, DataLoss, ResourceExhausted), else 1. What a peer answered:
// FromPeer.
int ExitCode(const absl::Status& status);

// What `command`, such as "tributary run start", prints and returns when it fails.
int ReportFailure(std::string_view command, const absl::Status& status);

}  // namespace tributary::cli
