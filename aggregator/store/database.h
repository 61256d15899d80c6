// The part of SQLite that the store needs: statements, transactions, and errors with a remedy.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

// A prepared statement. Valid as long as its Database. Step returns the errors of binding, too.
class Statement {
 public:
  // Binds the parameters, all of them, as copies, and begins anew.
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    Reset();
    int index = 0;
    (BindAt(++index, values), ...);
    return *this;
  }

  // True while there is a row to read with the functions below (columns from 0).
  absl::StatusOr<bool> Step();
  // Runs a statement without rows.
  absl::Status Run() { return Step().status(); }
  // All rows, read by `read`.
  template <typename Read>
  auto Rows(Read read) -> absl::StatusOr<std::vector<std::invoke_result_t<Read, const Statement&>>> {
    std::vector<std::invoke_result_t<Read, const Statement&>> rows;
    for (;;) {
      ASSIGN_OR_RETURN(const bool found, Step());
      if (!found) return rows;
      rows.push_back(read(*this));
    }
  }

  template <std::integral Integer = std::int64_t>
  Integer Number(int column) const {
    return static_cast<Integer>(NumberAt(column));
  }
  // A text or a blob.
  std::string Bytes(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  void Reset();
  void BindAt(int index, std::int64_t value);
  void BindAt(int index, std::string_view value);
  void BindAt(int index, Blob value);
  template <std::integral Integer>
  void BindAt(int index, Integer value) {
    BindAt(index, static_cast<std::int64_t>(value));
  }
  std::int64_t NumberAt(int column) const;

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_result_ = 0;
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

  template <typename... Values>
  absl::StatusOr<Statement> Prepare(std::string_view sql, const Values&... values) {
    ASSIGN_OR_RETURN(Statement statement, Parse(sql));
    statement.Bind(values...);
    return statement;
  }
  // Runs statements without parameters.
  absl::Status Execute(const std::string& sql);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(std::unique_ptr<sqlite3, Close> database) : database_(std::move(database)) {}
  static absl::StatusOr<Database> Connect(const std::string& path, int flags);
  absl::Status Configure();
  absl::StatusOr<Statement> Parse(std::string_view sql);

  std::unique_ptr<sqlite3, Close> database_;
};

// Rolls back unless committed.
class Transaction {
 public:
  static absl::StatusOr<Transaction> Begin(Database& database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;

  absl::Status Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace tributary::store
