#include "core/certificates/issue_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/file.h"
#include "core/runtime/plain_file.h"
#include "core/status/context.h"
#include "core/status/freed_by.h"
#include "core/status/macros.h"

namespace tributary::certificates {
namespace {

void FreeText(char* text) { OPENSSL_free(text); }

absl::Status ErrnoStatus(const std::string& path) {
  const int error = errno;
  const std::string what = fmt::format("{}: {}", path, std::strerror(error));
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(what);
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(what);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(what);
  return absl::UnavailableError(what);
}

std::string TextOf(const IssueRecord::Line& line) {
  const std::string joined =
      line.joined.token.empty() ? "" : absl::StrCat(" ", line.joined.token, " ", line.joined.key_sha256);
  return absl::StrCat(line.serial, " ", line.name, joined, "\n");
}

// Cuts off what somebody who was interrupted has left of a line. Returns the file's size then.
absl::StatusOr<off_t> DropTornLine(const std::string& path, int file) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return ErrnoStatus(path);
  char last = '\n';
  if (facts.st_size > 0 && pread(file, &last, 1, facts.st_size - 1) != 1) return ErrnoStatus(path);
  if (last == '\n') return facts.st_size;
  ASSIGN_OR_RETURN(const std::string text, runtime::ReadFile(path));
  const auto whole = static_cast<off_t>(text.rfind('\n') + 1);
  if (ftruncate(file, whole) != 0) return ErrnoStatus(path);
  return whole;
}

// An empty record would let each join token be used again, and no certificate be revoked by its name.
absl::Status MissingError(const std::string& path) {
  return absl::FailedPreconditionError(fmt::format(
      "{}: is missing, so nobody knows which certificates this CA has made and which names of join "
      "tokens are taken; put it back from a backup. If there is none, or the CA is of a release "
      "that kept no record: revoke the join tokens, then begin a new record: touch {}",
      path, path));
}

// All of it or nothing, on the disk when it returns. The file must be there: one that was lost is not begun
// anew.
absl::Status AppendDurably(const std::string& path, const std::string& text) {
  const absl::StatusOr<runtime::Descriptor> opened = runtime::OpenPlainFile(path, O_RDWR | O_APPEND);
  if (absl::IsNotFound(opened.status())) return MissingError(path);
  RETURN_IF_ERROR(opened.status());
  const runtime::Descriptor& file = *opened;
  if (flock(file.get(), LOCK_EX) != 0) return ErrnoStatus(path);
  ASSIGN_OR_RETURN(const off_t whole, DropTornLine(path, file.get()));
  const ssize_t wrote = write(file.get(), text.data(), text.size());
  if (wrote == static_cast<ssize_t>(text.size())) {
    return fsync(file.get()) == 0 ? absl::OkStatus() : ErrnoStatus(path);
  }
  if (wrote >= 0) errno = ENOSPC;
  const absl::Status status = ErrnoStatus(path);
  if (wrote > 0 && ftruncate(file.get(), whole) != 0) return ErrnoStatus(path);
  return status;
}

bool AllHexadecimal(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace

std::string SerialText(const ASN1_INTEGER* serial) {
  const std::unique_ptr<BIGNUM, FreedBy<BN_free>> number(ASN1_INTEGER_to_BN(serial, nullptr));
  const std::unique_ptr<char, FreedBy<FreeText>> digits(BN_bn2hex(number.get()));
  return digits.get();
}

absl::Status IssueRecord::Begin(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kFile);
  ASSIGN_OR_RETURN(const runtime::Descriptor file, runtime::OpenPlainFile(path, O_WRONLY | O_CREAT, 0644));
  return fsync(file.get()) == 0 ? absl::OkStatus() : ErrnoStatus(path);
}

absl::StatusOr<IssueRecord> IssueRecord::Read(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kFile);
  const absl::StatusOr<std::string> text = runtime::ReadFile(path);
  if (absl::IsNotFound(text.status())) return MissingError(path);
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(IssueRecord record, WithContext(path, Parse(*text)));
  record.path_ = path;
  return record;
}

absl::StatusOr<IssueRecord> IssueRecord::Parse(std::string_view text) {
  IssueRecord record;
  record.torn_ = !text.empty() && !text.ends_with('\n');
  text = text.substr(0, text.rfind('\n') + 1);
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    const bool joined = parts.size() == 4 && AllHexadecimal(parts[2]) && AllHexadecimal(parts[3]);
    if ((parts.size() != 2 && !joined) || !AllHexadecimal(parts[0]) || parts[1].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": expected a serial number in hexadecimal digits and a name"));
    }
    record.serials_.insert(parts[0]);
    record.lines_.push_back({parts[0], parts[1], joined ? Joined{parts[2], parts[3]} : Joined{}});
  }
  record.written_ = record.lines_.size();
  return record;
}

bool IssueRecord::Add(const std::string& name, X509& certificate, Joined joined) {
  std::string serial = SerialOf(certificate);
  if (!serials_.insert(serial).second) return false;
  lines_.push_back({std::move(serial), name, std::move(joined)});
  return true;
}

std::vector<std::string> IssueRecord::SerialsOf(std::string_view name) const {
  std::vector<std::string> serials;
  for (const Line& line : lines_) {
    if (line.name == name) serials.push_back(line.serial);
  }
  return serials;
}

std::string IssueRecord::TornLineWarning() const {
  if (!torn_) return "";
  return fmt::format(
      "{}: the last line is torn and is left out. A crash or a full disk while a certificate "
      "was made explains it; nobody has that certificate. Otherwise the file is damaged: put it "
      "back from a backup",
      path_);
}

absl::Status IssueRecord::Write() {
  std::string text;
  for (std::size_t i = written_; i < lines_.size(); ++i) text += TextOf(lines_[i]);
  if (text.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(AppendDurably(path_, text));
  written_ = lines_.size();
  return absl::OkStatus();
}

}  // namespace tributary::certificates
