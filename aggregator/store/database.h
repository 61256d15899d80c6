// The part of SQLite that the store needs: statements, transactions, and errors with a remedy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tributary::store {

// A prepared statement. Parameters count from 1. Valid as long as its Database. Step and Run return the
// errors of binding, too.
class Statement {
 public:
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, double value);
  // As text or as a blob, copied.
  Statement& BindText(int index, std::string_view value);
  Statement& BindBlob(int index, std::string_view value);

  // True while there is a row to read with the functions below (columns from 0).
  absl::StatusOr<bool> Step();
  // Runs a statement without rows.
  absl::Status Run();
  // Resets it, to be bound and run again.
  void Reset();

  std::int64_t Integer(int column) const;
  std::string Text(int column) const;
  std::string Blob(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}

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

  absl::StatusOr<Statement> Prepare(std::string_view sql);
  absl::Status Execute(const std::string& sql);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(std::unique_ptr<sqlite3, Close> database) : database_(std::move(database)) {}
  static absl::StatusOr<Database> Connect(const std::string& path, int flags);
  absl::Status Configure();

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
