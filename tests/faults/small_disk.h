// A real file system that fills up quickly.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace tributary::testing {

// A tmpfs over a folder, in a mount namespace of its own: only processes started through launcher() see it.
// It needs user namespaces, which some containers forbid: then ready() is false, and log() says why.
class SmallDisk {
 public:
  // `folder` is an absolute path and is created.
  SmallDisk(const ScratchFolder& scratch, const std::string& folder, std::size_t bytes);

  bool ready() { return holder_->Running(); }
  std::string log() const { return holder_->Log(); }

  // The prefix of a command that must see the disk.
  std::vector<std::string> launcher() const;
  // The path of a file of the disk for this process.
  std::string Path(const std::string& name) const;

  // Writes until nothing more fits.
  void Fill() const;
  // Frees one page of what Fill() took, or all of it.
  void FreePage() const;
  void Free() const;

 private:
  std::string folder_;
  std::unique_ptr<Process> holder_;  // keeps the namespace
};

}  // namespace tributary::testing
