// Files of the store: written to a temporary file, synced, renamed, and checked when read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/store_step.h"

namespace tributary::store {

// The store's record of a file, or of a part of an UpdateLog.
struct FileFacts {
  std::string name;  // relative to the store; ends with kLogEnding if others share the file
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  std::uint64_t offset = 0;  // of the part in its log
};
inline constexpr std::string_view kLogEnding = ".log";

// Makes a file's name in its folder survive a crash.
absl::Status SyncFolderOf(const std::string& path);

// A file that is being written. Without Commit the destructor removes it. One thread at a time. Errors name
// the path; ResourceExhausted: the disk is full.
class DurableFile {
 public:
  // Writes `folder`/`name` through `name`.tmp. The folders exist.
  static absl::StatusOr<DurableFile> Create(std::string folder, std::string name, StoreStepHook hook);
  ~DurableFile();
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&& other) = delete;

  absl::Status Append(std::string_view bytes);

  // After it returns, a crash leaves the file complete.
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

  // Reads the next bytes into `buffer`; fewer than its size only at the end of the file. DataLoss at the last
  // bytes if the checksum of the whole does not match: do not use what was read.
  absl::StatusOr<std::size_t> Read(char* buffer, std::size_t size);
  // Skips the next bytes, `remaining()` at most. The checksum covers the whole file, so it is not checked
  // then.
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
