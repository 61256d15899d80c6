// Files of the store: written beside their place, synced, renamed; checked when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/store_step.h"

namespace tributary::store {

// What the store remembers of a file, or of a part of an UpdateLog.
struct FileFacts {
  std::string name;  // relative to the store; ends with kLogEnding if others share the file
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  std::uint64_t offset = 0;  // of the part in its log
};
inline constexpr std::string_view kLogEnding = ".log";

// Makes a file's name in its folder survive a crash.
absl::Status SyncFolderOf(const std::string& path);

// A file that is being written; gone with this object unless it was committed. One thread at a time.
// Errors name the path; ResourceExhausted: the disk is full.
class DurableFile {
 public:
  // `folder`/`name`, by way of `name`.tmp. The folders exist.
  static absl::StatusOr<DurableFile> Create(std::string folder, std::string name, StoreStepHook hook);
  ~DurableFile();
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&& other) = delete;

  absl::Status Append(std::string_view bytes);

  // Once it returns, a crash leaves the file whole.
  absl::Status Commit();

  const FileFacts& facts() const { return facts_; }

 private:
  DurableFile(int fd, std::string folder, std::string name, StoreStepHook hook);
  std::string path() const { return folder_ + "/" + facts_.name; }

  int fd_;
  std::string folder_;
  FileFacts facts_;
  StoreStepHook hook_;
};

// Reads a file of the store, or a part of one, from start to end. One thread at a time.
class CheckedReader {
 public:
  // DataLoss if the file is missing or has another size than `facts` say; a log may be longer.
  static absl::StatusOr<CheckedReader> Open(const std::string& folder, const FileFacts& facts);
  ~CheckedReader();
  CheckedReader(CheckedReader&& other) noexcept;
  CheckedReader& operator=(CheckedReader&& other) noexcept;

  // The next bytes into `buffer`; fewer than its size only at the end of the file. DataLoss at the last bytes
  // if the whole does not match its checksum: what was read must then not be used.
  absl::StatusOr<std::size_t> Read(char* buffer, std::size_t size);
  // Passes over the next bytes unread, `remaining()` at most. The checksum, which is of the whole, is then
  // not looked at.
  absl::Status Skip(std::uint64_t bytes);

  std::uint64_t remaining() const { return facts_.bytes - position_; }

 private:
  CheckedReader(int fd, std::string path, FileFacts facts);

  int fd_;
  std::string path_;
  FileFacts facts_;
  std::uint64_t position_ = 0;
  bool whole_ = true;  // nothing was skipped
  std::uint32_t crc32c_ = 0;
};

}  // namespace tributary::store
