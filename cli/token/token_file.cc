#include "cli/token/token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "cli/failure.h"
#include "cli/owned_output.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/plain_file.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr std::int64_t kHourS = 3'600;
constexpr std::int64_t kDaysAtMost = 366;

}  // namespace

absl::StatusOr<std::int64_t> ParseLifetime(const std::string& text) {
  const std::int64_t unit_s = text.ends_with('d') ? 24 * kHourS : text.ends_with('h') ? kHourS : 0;
  std::int64_t count = 0;
  const std::int64_t most = unit_s == 0 ? 0 : kDaysAtMost * 24 * kHourS / unit_s;
  if (unit_s == 0 || !absl::SimpleAtoi(text.substr(0, text.size() - 1), &count) || count < 1 ||
      count > most) {
    return absl::InvalidArgumentError(fmt::format(
        "\"{}\" is not allowed; use hours or days up to {} days, as 12h or 30d", text, kDaysAtMost));
  }
  return count * unit_s;
}

absl::Status ChangeTokens(const std::string& path,
                          const std::function<absl::Status(config::TokenSet&)>& change) {
  RETURN_IF_ERROR(CheckPlainOutput(path));
  const std::string lock_path = path + ".lock";
  const absl::StatusOr<runtime::Descriptor> lock = runtime::OpenPlainFile(lock_path, O_RDWR | O_CREAT, 0600);
  if (!lock.ok()) return WithExitCode(lock.status(), runtime::kExitCantCreate);
  if (flock(lock->get(), LOCK_EX) != 0) {
    return WithExitCode(absl::UnavailableError(fmt::format("{}: {}", lock_path, std::strerror(errno))),
                        runtime::kExitCantCreate);
  }
  // Also for those who change the tokens without being root.
  RETURN_IF_ERROR(GiveToFolderOwner(lock_path));
  ASSIGN_OR_RETURN(config::TokenSet tokens, config::TokenSet::Read(path));
  RETURN_IF_ERROR(change(tokens));
  struct stat before {};
  const bool existed = lstat(path.c_str(), &before) == 0;
  // The aggregator must be able to read what root makes in its folder.
  return WritePlainOutput(path, tokens.Text(), existed ? before.st_mode & 0774 : 0600,
                          runtime::FileOwner::kAsBefore);
}

}  // namespace tributary::cli
