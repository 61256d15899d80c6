#include "cli/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "core/runtime/file.h"
#include "core/runtime/new_folder.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"

namespace tributary::cli {
namespace {

constexpr char kExitCodeUrl[] = "tributary/exit_code";

}  // namespace

absl::Status UsageError(std::string_view message) {
  return WithExitCode(absl::InvalidArgumentError(std::string(message)), runtime::kExitUsage);
}

absl::Status WithExitCode(absl::Status status, int exit_code) {
  status.SetPayload(kExitCodeUrl, absl::Cord(std::to_string(exit_code)));
  return status;
}

absl::Status AlreadyReported(int exit_code) {
  return exit_code == runtime::kExitOk ? absl::OkStatus() : WithExitCode(absl::UnknownError(""), exit_code);
}

absl::Status WriteOutput(const std::string& path, std::string_view content, mode_t mode) {
  absl::Status status = runtime::WriteFileAtomically(path, content, mode);
  return status.ok() ? status : WithExitCode(std::move(status), runtime::kExitCantCreate);
}

absl::Status CheckOutput(const std::string& path, const std::vector<std::string>& inputs) {
  if (path.empty()) return absl::OkStatus();
  std::error_code ignored;
  for (const std::string& input : inputs) {
    if (std::filesystem::is_regular_file(path, ignored) &&
        std::filesystem::equivalent(path, input, ignored)) {
      return UsageError(fmt::format("{} is read, and would be overwritten: write to another file",
                                    runtime::Printable(path)));
    }
  }
  absl::Status status = runtime::CheckFolderOf(path);
  return status.ok() ? status : WithExitCode(std::move(status), runtime::kExitCantCreate);
}

absl::Status CheckOutputFolder(const std::string& path, const std::string& read) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(read, ignored);
  const std::filesystem::path made = std::filesystem::weakly_canonical(path, ignored);
  if (!read.empty() && std::ranges::mismatch(folder, made).in1 == folder.end()) {
    return UsageError(fmt::format("{} lies in {}, which is read: name a folder outside of it",
                                  runtime::Printable(path), runtime::Printable(read)));
  }
  absl::Status status = runtime::NewFolder::Check(path);
  return status.ok() ? status : WithExitCode(std::move(status), runtime::kExitCantCreate);
}

int ExitCode(const absl::Status& status) {
  if (const auto given = status.GetPayload(kExitCodeUrl)) {
    int exit_code = runtime::kExitFailure;
    return absl::SimpleAtoi(std::string(*given), &exit_code) ? exit_code : runtime::kExitFailure;
  }
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return runtime::kExitOk;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return runtime::kExitUnavailable;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
      return runtime::kExitNoInput;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kResourceExhausted:
      return runtime::kExitData;
    default:
      return runtime::kExitFailure;
  }
}

int ReportFailure(std::string_view command, const absl::Status& status) {
  const std::string message(status.message());
  if (!message.empty())
    std::fputs(fmt::format("{}: {}\n", command, runtime::Printable(message)).c_str(), stderr);
  return ExitCode(status);
}

}  // namespace tributary::cli
