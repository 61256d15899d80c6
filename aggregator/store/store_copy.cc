#include "aggregator/store/store_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "aggregator/store/database.h"
#include "aggregator/store/durable_file.h"
#include "aggregator/store/store_folder.h"
#include "aggregator/store/tables.h"
#include "core/runtime/new_folder.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::store {
namespace {

namespace fs = std::filesystem;

// Looks at the database, each after a file of the one before had gone.
constexpr int kLooks = 100;
// Below the usual limit of 1,024 descriptors.
constexpr std::size_t kOpenAtOnce = 512;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// "models/…" or "submissions/…": a backup may come from anywhere.
absl::Status CheckName(const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string_view folder = std::string_view(name).substr(0, slash);
  const std::string_view file = slash == std::string::npos ? "" : std::string_view(name).substr(slash + 1);
  const bool known = folder == kModels || folder == kSubmissions;
  if (known && !file.empty() && file.find('/') == std::string_view::npos && file != "." && file != "..") {
    return absl::OkStatus();
  }
  return absl::DataLossError(fmt::format("\"{}\": is no name of a store's file", runtime::Printable(name)));
}

// Bytes of each file that the database names, by name.
using FileSizes = std::map<std::string, std::uint64_t>;

// The files that parts stand in, and up to where.
absl::StatusOr<FileSizes> FilesOf(const std::vector<FileFacts>& parts) {
  FileSizes files;
  for (const FileFacts& part : parts) {
    RETURN_IF_ERROR(CheckName(part.name));
    std::uint64_t& end = files[part.name];
    end = std::max(end, part.offset + part.bytes);
  }
  return files;
}

// None: the file has gone.
absl::StatusOr<Descriptor> Open(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.open() || errno == ENOENT) return file;
  return absl::ErrnoToStatus(errno, path + ": cannot open");
}

// Copies the first `bytes` of an open file to `to`/`name`.
absl::Status Copy(const Descriptor& file, const std::string& path, std::uint64_t bytes, const std::string& to,
                  const std::string& name) {
  ASSIGN_OR_RETURN(DurableFile copy, DurableFile::Create(to, name, {}));
  std::string piece(std::min<std::uint64_t>(bytes, kPieceBytes), '\0');
  for (std::uint64_t left = bytes; left > 0;) {
    const ssize_t got = read(file.get(), piece.data(), std::min<std::uint64_t>(left, piece.size()));
    if (got < 0) return absl::ErrnoToStatus(errno, path + ": cannot read");
    if (got == 0) return absl::DataLossError(path + ": is shorter than the store says");
    RETURN_IF_ERROR(copy.Append({piece.data(), static_cast<std::size_t>(got)}));
    left -= static_cast<std::uint64_t>(got);
  }
  return copy.Commit();
}

// What the copy's own checksum says of it; `from` is what the message blames.
absl::Status CheckPart(const std::string& from, const std::string& copy, const FileFacts& part) {
  absl::StatusOr<CheckedReader> reader = CheckedReader::Open(copy, part);
  if (!reader.ok()) return reader.status();
  std::string piece(kPieceBytes, '\0');
  while (reader->remaining() > 0) {
    if (const auto got = reader->Read(piece.data(), piece.size()); !got.ok()) {
      if (!absl::IsDataLoss(got.status())) return got.status();
      return absl::DataLossError(fmt::format("{}/{}: is damaged: its checksum differs", from, part.name));
    }
  }
  return absl::OkStatus();
}

bool IsPartOfAStore(std::string_view name) {
  return name == kModels || name == kSubmissions || name.starts_with(kDatabase);
}

class StoreCopy {
 public:
  StoreCopy(std::string from, std::string partial, const CopyProgress& progress)
      : from_(std::move(from)), partial_(std::move(partial)), progress_(progress) {}

  absl::StatusOr<CopiedStore> Run() {
    for (const std::string& folder : {Part(kModels), Part(kSubmissions)}) {
      if (mkdir(folder.c_str(), 0700) != 0) return absl::ErrnoToStatus(errno, folder + ": cannot create");
    }
    ASSIGN_OR_RETURN(Database source, Database::OpenToCopy(fmt::format("{}/{}", from_, kDatabase)));
    for (int look = 0; look < kLooks; ++look) {
      RETURN_IF_ERROR(Look(source));
      RETURN_IF_ERROR(CopyDatabase(source));
      ASSIGN_OR_RETURN(const bool complete, CopyFiles());
      if (!complete) continue;
      RETURN_IF_ERROR(Finish());
      return copied_;
    }
    return absl::UnavailableError(
        fmt::format("{}: in {} looks, rounds removed files before they were copied; pause the runs, or copy "
                    "to a faster disk",
                    from_, kLooks));
  }

 private:
  std::string Part(std::string_view name) const { return fmt::format("{}/{}", partial_, name); }

  // Opens the files before the database is copied and checked, which takes longer than a short round.
  absl::Status Look(Database& source) {
    ASSIGN_OR_RETURN(const bool has_tables, HasTables(source));
    if (!has_tables) return absl::NotFoundError(from_ + ": is no store: its database is empty");
    ASSIGN_OR_RETURN(const std::vector<FileFacts> parts, NamedParts(source));
    ASSIGN_OR_RETURN(const FileSizes files, FilesOf(parts));
    opened_.clear();
    // The copied database tells whether one that has gone is still wanted.
    return OpenFiles(files).status();
  }

  // Those that are neither copied nor open, as many as may be open at once. Gives one that has gone, or "".
  absl::StatusOr<std::string> OpenFiles(const FileSizes& files) {
    std::string gone;
    for (const auto& [name, bytes] : files) {
      if (opened_.size() == kOpenAtOnce) break;
      if (Has(name, bytes) || opened_.contains(name)) continue;
      ASSIGN_OR_RETURN(Descriptor file, Open(from_ + "/" + name));
      if (file.open()) {
        opened_.emplace(name, std::move(file));
      } else if (gone.empty()) {
        gone = name;
      }
    }
    return gone;
  }

  absl::Status CopyDatabase(Database& source) {
    const std::string path = Part(kDatabase);
    unlink(path.c_str());
    RETURN_IF_ERROR(source.Execute("VACUUM INTO ?", std::string_view(path)));
    if (chmod(path.c_str(), 0600) != 0) return absl::ErrnoToStatus(errno, path);
    ASSIGN_OR_RETURN(Database copy, Database::OpenToCheck(path));
    ASSIGN_OR_RETURN(parts_, NamedParts(copy));
    ASSIGN_OR_RETURN(const std::vector<std::int64_t> runs,
                     copy.Query([](const Row& row) { return row.Number(0); }, "SELECT count(*) FROM run"));
    copied_.runs = static_cast<std::size_t>(runs.front());
    return absl::OkStatus();
  }

  // False: one has gone, so the database has changed.
  absl::StatusOr<bool> CopyFiles() {
    ASSIGN_OR_RETURN(const FileSizes files, FilesOf(parts_));
    for (auto each = had_.begin(); each != had_.end();) {
      if (files.contains(each->first)) {
        ++each;
        continue;
      }
      unlink((partial_ + "/" + each->first).c_str());
      each = had_.erase(each);
    }
    ASSIGN_OR_RETURN(const std::string gone, OpenFiles(files));
    if (!gone.empty()) return Gone(gone);
    for (const auto& [name, bytes] : files) {
      if (Has(name, bytes)) continue;
      const std::string path = from_ + "/" + name;
      if (!opened_.contains(name)) {
        ASSIGN_OR_RETURN(Descriptor file, Open(path));
        if (!file.open()) return Gone(name);
        opened_.emplace(name, std::move(file));
      }
      RETURN_IF_ERROR(Copy(opened_.at(name), path, bytes, partial_, name));
      opened_.erase(name);
      had_[name] = bytes;
      if (progress_) progress_(had_.size(), files.size());
    }
    return true;
  }

  // A log may have grown since.
  bool Has(const std::string& name, std::uint64_t bytes) const {
    const auto found = had_.find(name);
    return found != had_.end() && found->second >= bytes;
  }

  // False: look again. After some looks that all named it and did not find it, nobody is removing it
  // meanwhile.
  absl::StatusOr<bool> Gone(const std::string& name) {
    gone_looks_ = gone_ == name ? gone_looks_ + 1 : 0;
    gone_ = name;
    if (gone_looks_ < 3) return false;
    return absl::DataLossError(fmt::format("{}/{}: is missing, and the store names it", from_, name));
  }

  absl::Status Finish() {
    for (const FileFacts& part : parts_) RETURN_IF_ERROR(CheckPart(from_, partial_, part));
    std::error_code error;
    copied_.files = had_.size();
    copied_.bytes = fs::file_size(Part(kDatabase), error);
    for (const auto& [name, bytes] : had_) copied_.bytes += bytes;
    for (const std::string& path : {Part(kDatabase), Part(kModels), Part(kSubmissions)}) {
      RETURN_IF_ERROR(runtime::SyncPath(path));
    }
    return absl::OkStatus();
  }

  const std::string from_;
  const std::string partial_;
  const CopyProgress& progress_;
  std::vector<FileFacts> parts_;
  std::map<std::string, Descriptor> opened_;  // by name; they stay readable when a round removes them
  FileSizes had_;                             // copied
  std::string gone_;
  int gone_looks_ = 0;
  CopiedStore copied_;
};

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

absl::StatusOr<CopiedStore> CopyStore(const std::string& from, const std::string& to,
                                      const CopyProgress& progress) {
  if (!HasDatabase(from)) {
    return absl::NotFoundError(fmt::format("{}: is no store: it has no {}", from, kDatabase));
  }
  ASSIGN_OR_RETURN(runtime::NewFolder folder, runtime::NewFolder::Create(to, IsPartOfAStore));
  ASSIGN_OR_RETURN(const CopiedStore copied, StoreCopy(WithoutSlash(from), folder.partial(), progress).Run());
  RETURN_IF_ERROR(folder.Commit());
  return copied;
}

}  // namespace tributary::store
