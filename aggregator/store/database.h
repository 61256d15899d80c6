// The part of SQLite that the store needs: statements, transactions, and errors with a remedy.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/status/macros.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tributary::store {

// A parameter to bind as a blob; other strings are bound as text.
struct Blob {
  std::string_view bytes;
};

// A row of a result; columns from 0.
class Row {
 public:
  template <std::integral Integer = std::int64_t>
  Integer Number(int column) const {
    return static_cast<Integer>(NumberAt(column));
  }
  // A text or a blob.
  std::string Bytes(int column) const;

 private:
  friend class Database;
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  std::int64_t NumberAt(int column) const;

  sqlite3_stmt* statement_;
};

// One connection; one thread at a time. Write-ahead log, synchronous = FULL: a commit is on the disk.
//
// Errors: DataLoss (not a database, damaged), ResourceExhausted (disk full), PermissionDenied, Unavailable
// (input or output failed), Internal (a fault of this program). Messages name the file.
class Database {
 public:
  // Opens or creates; checks the whole file for damage.
  static absl::StatusOr<Database> Open(const std::string& path);
  // Opens a second connection to an open file; it reads while the first one writes.
  static absl::StatusOr<Database> OpenToRead(const std::string& path);
  // Opens an existing file that another process may write to, to copy it with VACUUM INTO. Leaves no log
  // behind.
  static absl::StatusOr<Database> OpenToCopy(const std::string& path);
  // Checks the whole file as Open does, and neither changes nor adds a file.
  static absl::StatusOr<Database> OpenToCheck(const std::string& path);

  // Runs a statement with these parameters, or several without any.
  template <typename... Values>
  absl::Status Execute(std::string_view sql, const Values&... values) {
    return Run(sql, {Parameter(values)...}, [](const Row&) {});
  }
  // The rows of a statement, each as `read` reads it.
  template <typename Read, typename... Values>
  auto Query(Read read, std::string_view sql, const Values&... values)
      -> absl::StatusOr<std::vector<std::invoke_result_t<Read, const Row&>>> {
    std::vector<std::invoke_result_t<Read, const Row&>> rows;
    RETURN_IF_ERROR(Run(sql, {Parameter(values)...}, [&](const Row& row) { rows.push_back(read(row)); }));
    return rows;
  }

  // Commits what `change` does; rolls back if it fails.
  absl::Status Transact(const std::function<absl::Status()>& change);

 private:
  using Value = std::variant<std::int64_t, std::string_view, Blob>;
  static Value Parameter(std::string_view text) { return text; }
  static Value Parameter(Blob blob) { return blob; }
  static Value Parameter(std::integral auto number) { return static_cast<std::int64_t>(number); }

  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Database(std::unique_ptr<sqlite3, Close> database) : database_(std::move(database)) {}
  static absl::StatusOr<Database> Connect(const std::string& path, int flags);
  absl::Status CheckPages();
  absl::Status Run(std::string_view sql, const std::vector<Value>& values,
                   const std::function<void(const Row&)>& read);

  std::unique_ptr<sqlite3, Close> database_;
  // The last one: rows that are added together share it, and are not parsed one by one.
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace tributary::store
