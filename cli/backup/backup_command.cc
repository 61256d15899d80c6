// `tributary backup` and `tributary restore`: an aggregator's store, and back.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "aggregator/store/store_copy.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::cli {
namespace {

constexpr const char* kBackupExamples = R"(Examples:
  tributary backup --store /var/lib/tributary/store --out /mnt/backup/store-monday
  sudo -u tributary tributary backup --store /var/lib/tributary/store --out /mnt/backup/store-$(date +%F)

The aggregator goes on meanwhile. The backup is the store at one moment: all runs, models, history and the updates of the
present rounds, each file compared with its checksum. It is a folder, and a store itself. Run the command as the
aggregator's user, which owns the files.)";

constexpr const char* kRestoreExamples = R"(Example:
  tributary restore --backup /mnt/backup/store-monday --store /var/lib/tributary/store

Stop the aggregator and move its store away first: restore replaces nothing. Run the command as the aggregator's user,
then start the aggregator: each run goes on from the moment of the backup.)";

struct BackupArguments {
  std::string store;
  std::string out;
  bool json = false;
};

struct RestoreArguments {
  std::string backup;
  std::string store;
  bool json = false;
};

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

absl::Status Backup(const BackupArguments& arguments) {
  return Copy(arguments.store, arguments.out, arguments.json);
}

absl::Status Restore(const RestoreArguments& arguments) {
  return Copy(arguments.backup, arguments.store, arguments.json);
}

}  // namespace

void AddBackupCommand(Commands& program) {
  auto [command, arguments] =
      program.Add<BackupArguments>("backup", "Copy an aggregator's store while it runs", Backup);
  command.Text("--store", arguments.store, "FOLDER", "Store, as in [federation] store")->required();
  command.Text("--out", arguments.out, "FOLDER", "Folder to make, or an empty one")->required();
  command.Json(arguments.json);
  command.Examples(kBackupExamples);
}

void AddRestoreCommand(Commands& program) {
  auto [command, arguments] = program.Add<RestoreArguments>("restore", "Make a store of a backup", Restore);
  command.Text("--backup", arguments.backup, "FOLDER", "What `tributary backup` has made")->required();
  command.Text("--store", arguments.store, "FOLDER", "Store to make: a new folder, or an empty one")
      ->required();
  command.Json(arguments.json);
  command.Examples(kRestoreExamples);
}

}  // namespace tributary::cli
