// A folder that no other test process writes to: tests run at the same time.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tributary {

// Ends with a slash; made at the first call, removed at the end of the process.
inline const std::string& OwnFolder() {
  struct Folder {
    std::string path = std::filesystem::temp_directory_path() / "tributary.XXXXXX";
    Folder() {
      if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot create " + path);
      path += '/';
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace tributary
