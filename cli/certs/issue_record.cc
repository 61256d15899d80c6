#include "cli/certs/issue_record.h"

#include <openssl/bn.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/failure.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/freed_by.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

void FreeText(char* text) { OPENSSL_free(text); }

}  // namespace

std::string SerialText(const ASN1_INTEGER* serial) {
  const std::unique_ptr<BIGNUM, FreedBy<BN_free>> number(ASN1_INTEGER_to_BN(serial, nullptr));
  const std::unique_ptr<char, FreedBy<FreeText>> digits(BN_bn2hex(number.get()));
  return digits.get();
}

absl::StatusOr<IssueRecord> IssueRecord::Read(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kFile);
  const absl::StatusOr<std::string> text = runtime::ReadFile(path);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  ASSIGN_OR_RETURN(IssueRecord record, WithContext(path, Parse(text.value_or(""))));
  record.path_ = path;
  return record;
}

absl::StatusOr<IssueRecord> IssueRecord::Parse(std::string_view text) {
  IssueRecord record;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const bool digits = !parts.first.empty() && std::ranges::all_of(parts.first, absl::ascii_isxdigit);
    if (!digits || parts.second.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": expected a serial number in hexadecimal digits and a name"));
    }
    record.lines_.push_back({parts.first, parts.second});
  }
  return record;
}

bool IssueRecord::Add(const std::string& name, X509& certificate) {
  std::string serial = SerialOf(certificate);
  if (std::ranges::find(lines_, serial, &Line::serial) != lines_.end()) return false;
  lines_.push_back({std::move(serial), name});
  return true;
}

std::vector<std::string> IssueRecord::SerialsOf(std::string_view name) const {
  std::vector<std::string> serials;
  for (const Line& line : lines_) {
    if (line.name == name) serials.push_back(line.serial);
  }
  return serials;
}

absl::Status IssueRecord::Write() const {
  std::string text;
  for (const Line& line : lines_) absl::StrAppend(&text, line.serial, " ", line.name, "\n");
  return WriteOutput(path_, text);
}

}  // namespace tributary::cli
