// Files of the store: written, synced, put in place, and checked when read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/descriptor.h"

namespace tributary::store {

// The steps at which a power cut or a full disk can interrupt the store.
enum class StoreStep : std::uint8_t {
  kCreateFile,
  kWriteFile,
  kSyncFile,
  kRenameFile,
  kSyncFolder,
  kBegin,
  kChangeRow,
  kCommit,
  kRemoveFile,
};

// Called before each step; an error makes the step fail with it. Tests end the process in it. May be empty.
using StoreStepHook = std::function<absl::Status(StoreStep)>;

inline absl::Status AskHook(const StoreStepHook& hook, StoreStep step) {
  return hook ? hook(step) : absl::OkStatus();
}

// The store's record of a file, or of a part of an UpdateLog.
struct FileFacts {
  std::string name;  // relative to the store; ends with kLogEnding if others share the file
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  std::uint64_t offset = 0;  // of the part in its log
};
inline constexpr std::string_view kLogEnding = ".log";

using runtime::Descriptor;

// A file that is being written. Without Commit the destructor removes it. One thread at a time. Errors name
// the path; ResourceExhausted: the disk is full.
class DurableFile {
 public:
  // Writes `folder`/`name` through `name`.tmp. The folders exist.
  static absl::StatusOr<DurableFile> Create(std::string folder, std::string name, StoreStepHook hook);
  ~DurableFile();
  DurableFile(DurableFile&& other) = default;

  absl::Status Append(std::string_view bytes);

  // After it returns, a crash leaves the file complete.
  absl::Status Commit();

  const FileFacts& facts() const { return facts_; }

 private:
  DurableFile(Descriptor file, std::string path, std::string name, StoreStepHook hook)
      : file_(std::move(file)), path_(std::move(path)), facts_{std::move(name)}, hook_(std::move(hook)) {}

  Descriptor file_;  // until it is in place
  std::string path_;
  FileFacts facts_;
  StoreStepHook hook_;
};

// The file that the small updates of one round share. Appends batches with one sync each, so updates that
// arrive together share its cost. The file stays when this object is destroyed: the database names its parts.
// One thread at a time.
//
// Errors name the path; ResourceExhausted: the disk is full. An error leaves the end of the file where it
// was.
class UpdateLog {
 public:
  // `folder`/`name`. The folders exist.
  static absl::StatusOr<UpdateLog> Create(const std::string& folder, std::string name, StoreStepHook hook);

  // After it returns, a crash leaves all parts complete. The facts are in the order of `parts`.
  absl::StatusOr<std::vector<FileFacts>> Append(std::span<const std::string_view> parts);

 private:
  UpdateLog(Descriptor file, std::string path, std::string name, StoreStepHook hook)
      : file_(std::move(file)), path_(std::move(path)), name_(std::move(name)), hook_(std::move(hook)) {}

  Descriptor file_;
  std::string path_;
  std::string name_;
  StoreStepHook hook_;
  std::uint64_t size_ = 0;
};

// Reads a file of the store, or a part of one, from start to end. One thread at a time.
class CheckedReader {
 public:
  // DataLoss if the file is missing or has another size than `facts` say; a log may be longer.
  static absl::StatusOr<CheckedReader> Open(const std::string& folder, const FileFacts& facts);

  // Reads the next bytes into `buffer`; fewer than its size only at the end of the file. DataLoss at the last
  // bytes if the checksum of the whole does not match: do not use what was read.
  absl::StatusOr<std::size_t> Read(char* buffer, std::size_t size);
  // Skips the next bytes, `remaining()` at most. The checksum covers the whole file, so it is not checked
  // then.
  absl::Status Skip(std::uint64_t bytes);

  std::uint64_t remaining() const { return facts_.bytes - position_; }

 private:
  CheckedReader(Descriptor file, std::string path, FileFacts facts)
      : file_(std::move(file)), path_(std::move(path)), facts_(std::move(facts)) {}

  Descriptor file_;
  std::string path_;
  FileFacts facts_;
  std::uint64_t position_ = 0;
  bool whole_ = true;  // nothing was skipped
  std::uint32_t crc32c_ = 0;
};

}  // namespace tributary::store
