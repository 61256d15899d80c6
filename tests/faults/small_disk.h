// A real file system that is soon full.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace tributary::testing {

// A tmpfs over a folder, in a mount namespace of its own: only processes that are started through launcher()
// see it there. It needs user namespaces, which some containers do not allow: then ready() is false, log()
// says why.
class SmallDisk {
 public:
  // `folder` is an absolute path and is created.
  SmallDisk(const ScratchFolder& scratch, const std::string& folder, std::size_t bytes);

  bool ready() { return holder_->Running(); }
  std::string log() const { return holder_->Log(); }

  // The command that runs the one behind it where the disk is.
  std::vector<std::string> launcher() const;
  // Where this process finds a file of the disk.
  std::string Path(const std::string& name) const;

  // Writes until nothing more fits.
  void Fill() const;
  // Gives back one page of what Fill() took, or all of it.
  void FreePage() const;
  void Free() const;

 private:
  std::string folder_;
  std::unique_ptr<Process> holder_;  // keeps the namespace
};

}  // namespace tributary::testing
