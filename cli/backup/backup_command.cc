// `tributary backup` and `tributary restore`: an aggregator's store or what a node keeps, and back.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "aggregator/store/store_copy.h"
#include "cli/backup/node_copy.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/owned_output.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::cli {
namespace {

constexpr const char* kBackupExamples = R"(Examples:
  tributary backup --store /var/lib/tributary/store --out /mnt/backup/store-monday
  sudo -u tributary tributary backup --store /var/lib/tributary/store --out /mnt/backup/store-$(date +%F)
  tributary backup --config /etc/tributary/node.toml --out /mnt/backup/east-monday

--store copies an aggregator's store, --config what a node keeps. The daemon goes on meanwhile. Run the command as
the daemon's user, which owns the files.

The backup of a store is the store at one moment: all runs, models, history and the updates of the present rounds,
each file compared with its checksum. It is a folder, and a store itself.

The backup of a node has its certificate and key, the learner's state, the frames in spool_dir and the configuration,
with their checksums in SHA256SUMS. Keep it as safe as the key.)";

constexpr const char* kRestoreExamples = R"(Examples:
  tributary restore --backup /mnt/backup/store-monday --store /var/lib/tributary/store
  sudo tributary restore --backup /mnt/backup/east-monday --config /etc/tributary/node.toml

Stop the daemon and move what it had away first: restore replaces nothing. Run the command as the daemon's user, then
start the daemon. Each run of a store goes on from the moment of the backup. A node sends the frames of the backup
again; the aggregator refuses those that it has, and those that are too old.)";

struct BackupArguments {
  std::string store;
  std::string config;
  std::string out;
  bool json = false;
};

struct RestoreArguments {
  std::string backup;
  std::string store;
  std::string config;
  bool json = false;
};

absl::Status OneOfBoth(const std::string& store, const std::string& config) {
  if (store.empty() != config.empty()) return absl::OkStatus();
  return UsageError("give --store FOLDER for an aggregator, or --config FILE for a node");
}

absl::Status Copy(const std::string& from, const std::string& to, bool json) {
  const bool shows = isatty(STDERR_FILENO) != 0;
  const auto progress = [shows](std::size_t done, std::size_t all) {
    if (shows) std::cerr << fmt::format("\r{} of {} files", done, all) << std::flush;
  };
  const absl::StatusOr<store::CopiedStore> copied = store::CopyStore(from, to, progress);
  if (shows) std::cerr << "\r\033[K";
  RETURN_IF_ERROR(copied.status());
  if (json) {
    std::cout << wire::DumpJson({{"folder", to},
                                 {"runs", copied->runs},
                                 {"files", copied->files},
                                 {"bytes", std::to_string(copied->bytes)}})
              << "\n";
  } else {
    std::cout << fmt::format("{}: {}, {}, {:.1f} MB, all checksums right\n", to,
                             runtime::Counted(copied->runs, "run"), runtime::Counted(copied->files, "file"),
                             1e-6 * static_cast<double>(copied->bytes));
  }
  return absl::OkStatus();
}

absl::Status SayNode(const absl::StatusOr<CopiedNode>& copied, const std::string& folder, bool json) {
  RETURN_IF_ERROR(copied.status());
  for (const std::string& note : copied->notes) {
    std::cerr << "tributary backup: warning: " << runtime::Printable(note) << "\n";
  }
  if (json) {
    std::cout << wire::DumpJson({{"folder", folder},
                                 {"parts", copied->parts},
                                 {"files", copied->files},
                                 {"frames", std::to_string(copied->frames)},
                                 {"tuples", std::to_string(copied->tuples)},
                                 {"bytes", std::to_string(copied->bytes)}})
              << "\n";
  } else {
    std::cout << fmt::format("{}: {}; {} with {} in the spool, {}, {:.1f} MB, all checksums right\n", folder,
                             fmt::join(copied->parts, ", "), runtime::Counted(copied->frames, "frame"),
                             runtime::Counted(copied->tuples, "tuple"),
                             runtime::Counted(copied->files, "file"),
                             1e-6 * static_cast<double>(copied->bytes));
  }
  return absl::OkStatus();
}

absl::Status Backup(const BackupArguments& arguments) {
  RETURN_IF_ERROR(OneOfBoth(arguments.store, arguments.config));
  RETURN_IF_ERROR(CheckOutputFolder(arguments.out, arguments.store));
  if (!arguments.config.empty()) {
    return SayNode(BackUpNode(arguments.config, arguments.out), arguments.out, arguments.json);
  }
  return Copy(arguments.store, arguments.out, arguments.json);
}

absl::Status Restore(const RestoreArguments& arguments) {
  RETURN_IF_ERROR(OneOfBoth(arguments.store, arguments.config));
  if (!arguments.config.empty()) {
    return SayNode(RestoreNode(arguments.backup, arguments.config), arguments.backup, arguments.json);
  }
  RETURN_IF_ERROR(CheckOutputFolder(arguments.store, arguments.backup));
  RETURN_IF_ERROR(Copy(arguments.backup, arguments.store, arguments.json));
  return GiveTreeToFolderOwner(arguments.store);
}

}  // namespace

void AddBackupCommand(Commands& program) {
  auto [command, arguments] = program.Add<BackupArguments>(
      "backup", "Copy an aggregator's store, or what a node keeps, while it runs", Backup);
  command.Text("--store", arguments.store, "FOLDER", "Store of an aggregator, as in [federation] store");
  command.Text("--config", arguments.config, "FILE", "Configuration of a node");
  command.Text("--out", arguments.out, "FOLDER", "Folder to make, or an empty one")->required();
  command.Json(arguments.json);
  command.Examples(kBackupExamples);
}

void AddRestoreCommand(Commands& program) {
  auto [command, arguments] =
      program.Add<RestoreArguments>("restore", "Put a backup back where its daemon looks", Restore);
  command.Text("--backup", arguments.backup, "FOLDER", "What `tributary backup` has made")->required();
  command.Text("--store", arguments.store, "FOLDER", "Store to make: a new folder, or an empty one");
  command.Text("--config", arguments.config, "FILE",
               "Configuration of the node, which says where its files belong");
  command.Json(arguments.json);
  command.Examples(kRestoreExamples);
}

}  // namespace tributary::cli
