#include "cli/backup/node_copy.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_split.h"
#include "cli/owned_output.h"
#include "core/certificates/new_certificate.h"
#include "core/config/access_tokens.h"
#include "core/config/program.h"
#include "core/link/journal/journal_folder.h"
#include "core/link/journal/segment.h"
#include "core/runtime/file.h"
#include "core/runtime/new_folder.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "node/config.h"
#include "node/learner/learner_state.h"

namespace tributary::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSums = "SHA256SUMS";
constexpr std::string_view kConfig = "node.toml";
constexpr std::string_view kCertificate = "certificate.pem", kKey = "key.pem", kCa = "ca.pem";
constexpr std::string_view kState = "learner.state";
constexpr std::string_view kSpool = "spool";
constexpr std::string_view kSegmentEnding = ".spool";
// A segment has 1 MiB and a record, which has at most 16 MiB.
constexpr std::size_t kMostSegmentBytes = std::size_t{32} << 20;
// A certificate and its key are replaced one after the other.
constexpr int kPairLooks = 10;
constexpr std::chrono::milliseconds kPairPause{300};

// "00000000000000000042.spool": a folder may hold what is not of the node.
bool IsSegmentName(std::string_view name) {
  constexpr std::size_t kDigits = 20;
  return name.size() == kDigits + kSegmentEnding.size() && name.ends_with(kSegmentEnding) &&
         std::ranges::all_of(name.substr(0, kDigits), [](char c) { return c >= '0' && c <= '9'; });
}

// "spool/NUMBER.spool".
bool IsSegmentPath(std::string_view name) {
  return name.starts_with(kSpool) && name.size() > kSpool.size() && name[kSpool.size()] == '/' &&
         IsSegmentName(name.substr(kSpool.size() + 1));
}

bool IsPartOfABackup(std::string_view name) {
  return name == kSums || name == kConfig || name == kCertificate || name == kKey || name == kCa ||
         name == kState || name == kSpool || name.ends_with(".tmp");
}

absl::StatusOr<node::NodeConfig> ReadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Read(path));
  RETURN_IF_ERROR(config::CheckProgram(file, config::Program::kNode));
  node::NodeConfig config = node::ReadNodeConfig(file);
  RETURN_IF_ERROR(file.Finish());
  return config;
}

std::vector<std::string> PartsOf(const std::map<std::string, std::string>& sums) {
  std::vector<std::string> parts;
  if (sums.contains(std::string(kCertificate))) parts.emplace_back("certificate");
  if (sums.contains(std::string(kState))) parts.emplace_back("learner's state");
  if (std::ranges::any_of(sums, [](const auto& each) { return IsSegmentPath(each.first); })) {
    parts.emplace_back("spool");
  }
  return parts;
}

// Counts the frames of a segment. `sound`: the bytes that a node would take from it.
struct Frames {
  std::string_view sound;
  bool whole = false;
};
std::optional<Frames> Count(std::string_view bytes, CopiedNode& copied) {
  const std::optional<link::JournalIdentity> identity = link::IdentityOfSegment(bytes);
  if (!identity) return std::nullopt;
  const link::SegmentContent content = link::ReadSegment(bytes, *identity);
  copied.frames += content.records.size();
  for (const link::Record& record : content.records) copied.tuples += record.units;
  return Frames{bytes.substr(0, content.sound_bytes), content.state == link::SegmentState::kSound};
}

class NodeBackup {
 public:
  NodeBackup(std::string config_path, std::string partial)
      : config_path_(std::move(config_path)), partial_(std::move(partial)) {}

  absl::StatusOr<CopiedNode> Run() {
    ASSIGN_OR_RETURN(const node::NodeConfig config, ReadConfig(config_path_));
    if (config.tls) RETURN_IF_ERROR(CopyPair(*config.tls));
    if (config.federation && !config.federation->state.empty()) {
      RETURN_IF_ERROR(CopyState(config.federation->state));
    }
    if (config.disk) RETURN_IF_ERROR(CopySpool(config.disk->folder));
    copied_.parts = PartsOf(sums_);
    if (copied_.parts.empty()) {
      return absl::NotFoundError(config_path_ +
                                 ": names nothing that a node keeps: no [tls], and no file yet at state in "
                                 "[federation] or in spool_dir");
    }
    ASSIGN_OR_RETURN(const std::string config_text, runtime::ReadFile(config_path_));
    RETURN_IF_ERROR(Put(kConfig, config_text));
    return Finish();
  }

 private:
  absl::Status Put(std::string_view name, std::string_view bytes) {
    const std::string path = fmt::format("{}/{}", partial_, name);
    RETURN_IF_ERROR(runtime::WriteFileAtomically(path, bytes, 0600));
    std::string sum = config::Sha256Hex(bytes);
    ASSIGN_OR_RETURN(const std::string back, runtime::ReadFile(path));
    if (config::Sha256Hex(back) != sum) return absl::DataLossError(path + ": is not what was written");
    sums_[std::string(name)] = std::move(sum);
    ++copied_.files;
    copied_.bytes += bytes.size();
    return absl::OkStatus();
  }

  absl::Status CopyPair(const config::TlsFiles& files) {
    for (int look = 0; look < kPairLooks; ++look) {
      if (look > 0) std::this_thread::sleep_for(kPairPause);
      ASSIGN_OR_RETURN(const std::string certificate, config::ReadPem(files.certificate));
      ASSIGN_OR_RETURN(const std::string key, config::ReadPem(files.key));
      ASSIGN_OR_RETURN(const std::string ca, config::ReadPem(files.ca));
      if (certificates::PairOf(certificate, key).key == nullptr) continue;
      RETURN_IF_ERROR(Put(kCertificate, certificate));
      RETURN_IF_ERROR(Put(kKey, key));
      return Put(kCa, ca);
    }
    return absl::FailedPreconditionError(fmt::format(
        "{}: is not the key of {}; try again when both are in place", files.key, files.certificate));
  }

  absl::Status CopyState(const std::string& path) {
    const absl::StatusOr<std::string> bytes = runtime::ReadFile(path);
    if (absl::IsNotFound(bytes.status())) return absl::OkStatus();  // nothing was learned yet
    RETURN_IF_ERROR(bytes.status());
    RETURN_IF_ERROR(WithContext(path, learner::DecodeLearnerState(*bytes).status()));
    return Put(kState, *bytes);
  }

  absl::Status CopySpool(const std::string& folder) {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (std::string name = entry->path().filename().string(); IsSegmentName(name)) names.push_back(name);
    }
    if (error == std::errc::no_such_file_or_directory) return absl::OkStatus();
    if (error) return absl::ErrnoToStatus(error.value(), folder + ": cannot read the folder");
    std::ranges::sort(names);
    const std::string to = fmt::format("{}/{}", partial_, kSpool);
    if (!names.empty() && mkdir(to.c_str(), 0700) != 0)
      return absl::ErrnoToStatus(errno, to + ": cannot create");
    for (const std::string& name : names) RETURN_IF_ERROR(CopySegment(folder, name, name == names.back()));
    return absl::OkStatus();
  }

  absl::Status CopySegment(const std::string& folder, const std::string& name, bool last) {
    const std::string path = folder + "/" + name;
    const absl::StatusOr<std::string> bytes = runtime::ReadFile(path, kMostSegmentBytes);
    // The oldest go first: all before it were done, too.
    if (absl::IsNotFound(bytes.status())) return ForgetSegments();
    RETURN_IF_ERROR(bytes.status());
    const std::optional<Frames> frames = Count(*bytes, copied_);
    if (!frames) {
      copied_.notes.push_back(path + ": left out: this release has not written it");
      return absl::OkStatus();
    }
    // The node is writing to the last one.
    if (!frames->whole && !last) copied_.notes.push_back(path + ": damaged: what follows in it is left out");
    return Put(fmt::format("{}/{}", kSpool, name), frames->sound);
  }

  absl::Status ForgetSegments() {
    for (auto each = sums_.begin(); each != sums_.end();) {
      if (!IsSegmentPath(each->first)) {
        ++each;
        continue;
      }
      const fs::path path = partial_ + "/" + each->first;
      std::error_code error;
      copied_.bytes -= fs::file_size(path, error);
      if (!fs::remove(path, error)) return absl::UnavailableError(path.string() + ": cannot remove");
      --copied_.files;
      each = sums_.erase(each);
    }
    copied_.frames = copied_.tuples = 0;
    return absl::OkStatus();
  }

  absl::StatusOr<CopiedNode> Finish() {
    std::string text;
    for (const auto& [name, sum] : sums_) text += fmt::format("{}  {}\n", sum, name);
    RETURN_IF_ERROR(runtime::WriteFileAtomically(fmt::format("{}/{}", partial_, kSums), text, 0600));
    return copied_;
  }

  const std::string config_path_, partial_;
  std::map<std::string, std::string> sums_;  // by name
  CopiedNode copied_;
};

class NodeRestore {
 public:
  NodeRestore(std::string from, std::string config_path)
      : from_(std::move(from)), config_path_(std::move(config_path)) {}

  absl::StatusOr<CopiedNode> Run() {
    RETURN_IF_ERROR(ReadSums());
    ASSIGN_OR_RETURN(const node::NodeConfig config, ReadConfig(config_path_));
    RETURN_IF_ERROR(CheckNode(config.node));
    RETURN_IF_ERROR(FindPlaces(config));
    std::unique_ptr<link::JournalFolder> spool;
    if (config.disk) {
      ASSIGN_OR_RETURN(spool, OpenSpool(config.disk->folder));
    }
    for (const auto& [name, place] : places_) RETURN_IF_ERROR(CheckPlace(name, place));
    for (const auto& [name, place] : places_) RETURN_IF_ERROR(Put(name, place, spool.get()));
    if (spool != nullptr) RETURN_IF_ERROR(spool->SyncNames());
    copied_.parts = PartsOf(sums_);
    return copied_;
  }

 private:
  struct Place {
    std::string path;
    mode_t mode = 0600;
    bool there = false;
  };

  // Its lock also keeps a node from starting meanwhile. Null: there is no folder, and none is needed.
  absl::StatusOr<std::unique_ptr<link::JournalFolder>> OpenSpool(const std::string& folder) {
    std::error_code ignored;
    const bool needed =
        std::ranges::any_of(places_, [](const auto& each) { return IsSegmentPath(each.first); });
    if (!needed && !fs::is_directory(folder, ignored)) return nullptr;
    absl::StatusOr<std::unique_ptr<link::JournalFolder>> opened = link::OpenJournalFolder(folder);
    if (absl::IsFailedPrecondition(opened.status())) {
      return absl::FailedPreconditionError(
          fmt::format("{}; stop the node first", std::string(opened.status().message())));
    }
    RETURN_IF_ERROR(opened.status());
    for (const std::string& own : {folder, folder + "/lock"}) RETURN_IF_ERROR(GiveToFolderOwner(own));
    if (!needed) return opened;
    // Two spools in one folder would have frames of the same numbers.
    ASSIGN_OR_RETURN(const std::vector<std::string> names, (*opened)->List());
    for (const std::string& name : names) {
      if (!IsSegmentName(name) || places_.contains(fmt::format("{}/{}", kSpool, name))) continue;
      return absl::AlreadyExistsError(
          fmt::format("{}/{}: is no file of the backup; move it away, then restore again", folder, name));
    }
    return opened;
  }

  // Every file is compared before the first is written.
  absl::Status ReadSums() {
    const std::string path = fmt::format("{}/{}", from_, kSums);
    const absl::StatusOr<std::string> text = runtime::ReadFile(path, std::size_t{64} << 20);
    if (absl::IsNotFound(text.status())) {
      return absl::NotFoundError(fmt::format("{}: is no backup of a node: it has no {}", from_, kSums));
    }
    RETURN_IF_ERROR(text.status());
    for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> sum_and_name = absl::StrSplit(line, absl::MaxSplits("  ", 1));
      const auto& [sum, name] = sum_and_name;
      const bool known = name == kConfig || name == kCertificate || name == kKey || name == kCa ||
                         name == kState || IsSegmentPath(name);
      if (sum.size() != 64 || !known) {
        return absl::DataLossError(
            fmt::format("{}: has a line that no backup has: {}", path,
                        runtime::Printable(std::string_view(line.data(), line.size()))));
      }
      ASSIGN_OR_RETURN(const std::string bytes, runtime::ReadFile(from_ + "/" + name));
      if (config::Sha256Hex(bytes) != sum) {
        return absl::DataLossError(fmt::format("{}/{}: is damaged: its checksum differs", from_, name));
      }
      sums_[name] = sum;
    }
    return absl::OkStatus();
  }

  // Another node would set the frames aside, and has a certificate of its own.
  absl::Status CheckNode(const std::string& name) {
    if (!sums_.contains(std::string(kConfig))) return absl::OkStatus();
    ASSIGN_OR_RETURN(const config::ConfigFile kept,
                     config::ConfigFile::Read(fmt::format("{}/{}", from_, kConfig)));
    std::string owner;
    kept.Root().Read("node", owner);
    if (owner == name) return absl::OkStatus();
    return absl::FailedPreconditionError(
        fmt::format("{}: is a backup of the node \"{}\", and {} is of \"{}\"", from_,
                    runtime::Printable(owner), config_path_, name));
  }

  absl::Status FindPlaces(const node::NodeConfig& config) {
    std::map<std::string, Place> known;
    if (config.tls) {
      known[std::string(kCertificate)] = {.path = config.tls->certificate, .mode = 0644};
      known[std::string(kKey)] = {.path = config.tls->key};
      known[std::string(kCa)] = {.path = config.tls->ca, .mode = 0644};
    }
    if (config.federation && !config.federation->state.empty()) {
      known[std::string(kState)] = {.path = config.federation->state};
    }
    for (const auto& [name, sum] : sums_) {
      if (name == kConfig) continue;  // it says where all was, for who has lost it
      if (IsSegmentPath(name) && config.disk) {
        places_[name] = {.path = config.disk->folder + name.substr(kSpool.size())};
      } else if (const auto found = known.find(name); found != known.end()) {
        places_[name] = found->second;
      } else {
        return absl::FailedPreconditionError(
            fmt::format("{}: has no place for {} of the backup: it needs {}", config_path_, name,
                        name == kState        ? "state in [federation]"
                        : IsSegmentPath(name) ? "spool_dir in [uplink]"
                                              : "certificate, key and ca in [tls]"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckPlace(const std::string& name, const Place& place) {
    const absl::StatusOr<std::string> present = runtime::ReadFile(place.path);
    if (absl::IsNotFound(present.status())) return absl::OkStatus();
    RETURN_IF_ERROR(present.status());
    places_[name].there = config::Sha256Hex(*present) == sums_[name];
    if (places_[name].there) return absl::OkStatus();
    return absl::AlreadyExistsError(
        place.path + ": is there already and stays as it is; move it away, then restore again");
  }

  absl::Status Put(const std::string& name, const Place& place, link::JournalFolder* spool) {
    ASSIGN_OR_RETURN(const std::string bytes, runtime::ReadFile(from_ + "/" + name));
    if (IsSegmentPath(name)) Count(bytes, copied_);
    ++copied_.files;
    copied_.bytes += bytes.size();
    if (place.there) return absl::OkStatus();
    if (!IsSegmentPath(name)) {
      const fs::path folder = fs::path(place.path).parent_path();
      std::error_code error;
      if (fs::create_directories(folder, error)) RETURN_IF_ERROR(GiveToFolderOwner(folder.string()));
      return WriteForFolderOwner(place.path, bytes, place.mode);
    }
    const std::string file = name.substr(kSpool.size() + 1);
    RETURN_IF_ERROR(spool->Append(file, 0, bytes));
    RETURN_IF_ERROR(spool->Sync(file));
    return GiveToFolderOwner(place.path);
  }

  const std::string from_, config_path_;
  std::map<std::string, std::string> sums_;  // by name
  std::map<std::string, Place> places_;
  CopiedNode copied_;
};

}  // namespace

absl::StatusOr<CopiedNode> BackUpNode(const std::string& config, const std::string& to) {
  ASSIGN_OR_RETURN(runtime::NewFolder folder, runtime::NewFolder::Create(to, IsPartOfABackup));
  ASSIGN_OR_RETURN(CopiedNode copied, NodeBackup(config, folder.partial()).Run());
  RETURN_IF_ERROR(folder.Commit());
  return copied;
}

absl::StatusOr<CopiedNode> RestoreNode(const std::string& from, const std::string& config) {
  return NodeRestore(from, config).Run();
}

}  // namespace tributary::cli
