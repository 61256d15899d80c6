// A folder in memory that forgets what was not synced when the power is cut: the disk of a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/link/journal/journal_folder.h"

namespace tributary::link {

// The files, which outlive the processes that open them.
class PowerCutDisk {
 public:
  struct File {
    std::string bytes;
    std::size_t durable = 0;     // bytes that a power cut leaves
    bool named_durably = false;  // its name survives
  };

  // A killed process loses nothing. A power cut leaves of each file what was synced and a random part of what
  // follows, of which the last bytes may be zeros; names that were not synced may go, removed ones come back.
  void CutPower(std::mt19937_64& random) {
    for (auto& [name, file] : removed_) {
      if (random() % 2 == 0) files_.try_emplace(name, file);
    }
    removed_.clear();
    std::erase_if(files_,
                  [&](const auto& entry) { return !entry.second.named_durably && random() % 2 == 0; });
    for (auto& [name, file] : files_) {
      file.bytes.resize(file.durable + random() % (file.bytes.size() - file.durable + 1));
      const std::size_t zeros = random() % (file.bytes.size() - file.durable + 1);
      file.bytes.replace(file.bytes.size() - zeros, zeros, zeros, '\0');
      file.durable = file.bytes.size();
      file.named_durably = true;
    }
  }

  std::map<std::string, File>& files() { return files_; }
  // The operations that still work; the one after them and all later ones fail, as if the process had ended.
  void EndAfter(std::uint64_t operations) {
    left_ = operations;
    killed_ = false;
  }
  bool ended() const { return left_ == 0; }
  std::uint64_t operations() const { return operations_; }
  // Each write then fails with this. OK: they work.
  void FailWrites(absl::Status status) { write_error_ = std::move(status); }

 private:
  friend class PowerCutFolder;
  absl::Status Step() {
    ++operations_;
    if (left_ == 0) return absl::AbortedError("the process has ended");
    --left_;
    return absl::OkStatus();
  }

  std::map<std::string, File> files_;
  std::map<std::string, File> removed_;  // not durably
  std::uint64_t left_ = UINT64_MAX;
  std::uint64_t operations_ = 0;
  absl::Status write_error_;
  bool killed_ = false;
};

class PowerCutFolder final : public JournalFolder {
 public:
  explicit PowerCutFolder(PowerCutDisk& disk) : disk_(disk) {}

  std::string path() const override { return "disk"; }
  absl::StatusOr<std::vector<std::string>> List() override {
    if (absl::Status ended = disk_.Step(); !ended.ok()) return ended;
    std::vector<std::string> names;
    for (const auto& [name, file] : disk_.files_) names.push_back(name);
    return names;
  }
  absl::StatusOr<std::string> Read(const std::string& name, std::size_t max_bytes) override {
    if (absl::Status ended = disk_.Step(); !ended.ok()) return ended;
    const auto found = disk_.files_.find(name);
    if (found == disk_.files_.end()) return absl::NotFoundError(absl::StrCat("disk/", name));
    if (found->second.bytes.size() > max_bytes) return absl::ResourceExhaustedError(name);
    return found->second.bytes;
  }
  absl::Status Append(const std::string& name, std::uint64_t offset, std::string_view bytes) override {
    if (!disk_.write_error_.ok()) return disk_.write_error_;
    const absl::Status ended = disk_.Step();
    // The last write of a process that is killed in it is cut somewhere.
    if (!ended.ok()) bytes = bytes.substr(0, disk_.operations_ % (bytes.size() + 1));
    if (offset == 0 && disk_.files_.contains(name)) return absl::AlreadyExistsError(name);
    std::string& content = disk_.files_[name].bytes;
    if (content.size() != offset)
      return absl::InternalError(absl::StrCat("appends to ", name, " at ", offset));
    if (disk_.killed_ && !ended.ok()) return ended;
    content.append(bytes);
    disk_.killed_ = !ended.ok();
    return ended;
  }
  absl::Status Sync(const std::string& name) override {
    if (absl::Status ended = disk_.Step(); !ended.ok()) return ended;
    PowerCutDisk::File& file = disk_.files_[name];
    file.durable = file.bytes.size();
    return absl::OkStatus();
  }
  absl::Status SyncNames() override {
    if (absl::Status ended = disk_.Step(); !ended.ok()) return ended;
    for (auto& [name, file] : disk_.files_) file.named_durably = true;
    disk_.removed_.clear();
    return absl::OkStatus();
  }
  absl::Status Truncate(const std::string& name, std::uint64_t bytes) override {
    if (absl::Status ended = disk_.Step(); !ended.ok()) return ended;
    PowerCutDisk::File& file = disk_.files_[name];
    file.bytes.resize(bytes);
    file.durable = bytes;
    return absl::OkStatus();
  }
  absl::Status Remove(const std::string& name) override {
    if (absl::Status ended = disk_.Step(); !ended.ok()) return ended;
    const auto found = disk_.files_.find(name);
    if (found == disk_.files_.end()) return absl::NotFoundError(name);
    disk_.removed_[name] = found->second;
    disk_.files_.erase(found);
    return absl::OkStatus();
  }

 private:
  PowerCutDisk& disk_;
};

}  // namespace tributary::link
