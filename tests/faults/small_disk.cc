#include "tests/faults/small_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>

namespace tributary::testing {
namespace {

constexpr const char* kFiller = "filler";

}  // namespace

SmallDisk::SmallDisk(const ScratchFolder& scratch, const std::string& folder, std::size_t bytes)
    : folder_(folder) {
  std::filesystem::create_directories(folder);
  const std::string mount = "mount -t tmpfs -o size=" + std::to_string(bytes) + " none '" + folder +
                            "' && echo mounted && exec sleep 3600";
  holder_ = std::make_unique<Process>(
      "/usr/bin/env", std::vector<std::string>{"unshare", "--map-root-user", "--mount", "sh", "-c", mount},
      scratch.Path("disk.log"));
  WaitFor([this] { return !holder_->Running() || log().find("mounted") != std::string::npos; });
}

std::vector<std::string> SmallDisk::launcher() const {
  return {"nsenter", "--target", std::to_string(holder_->pid()),
          "--user",  "--mount",  "--preserve-credentials"};
}

std::string SmallDisk::Path(const std::string& name) const {
  return "/proc/" + std::to_string(holder_->pid()) + "/root" + folder_ + "/" + name;
}

void SmallDisk::Fill() const {
  const int file = open(Path(kFiller).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  constexpr std::array<char, 512> kBlock = {};
  while (file >= 0 && write(file, kBlock.data(), kBlock.size()) > 0) {
  }
  if (file >= 0) close(file);
}

void SmallDisk::FreePage() const {
  const std::string filler = Path(kFiller);
  const auto page = static_cast<std::uintmax_t>(sysconf(_SC_PAGESIZE));
  const std::uintmax_t bytes = std::filesystem::file_size(filler);
  std::filesystem::resize_file(filler, bytes > page ? (bytes - 1) / page * page : 0);
}

void SmallDisk::Free() const { std::filesystem::remove(Path(kFiller)); }

}  // namespace tributary::testing
