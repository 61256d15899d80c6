// The steps at which a power cut or a full disk can interrupt the store.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace tributary::store {

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

}  // namespace tributary::store
