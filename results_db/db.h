// An open results database: open, migrate, transaction, integrity. The tables are documented in
// schema/NNN_*.sql; reading and writing them is runs.h, trials.h and queries.h.
//
// Many processes may use one file: WAL, and a writer waits busy_timeout_ms for another. One Db
// belongs to one thread. After any failure the file is as it was before the transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compiler/support/result.h"

struct sqlite3;

namespace fusemark {

struct DbOptions {
  bool read_only = false;      // never creates, never migrates
  int busy_timeout_ms = 5000;  // how long to wait for another writer
  int64_t max_bytes = 0;       // size limit of the file; 0: none but the disk's
};

class Db {
 public:
  // Creates the file and its directories when missing (unless read_only). All failures are kIo and
  // say which of these it is: missing, a directory, read-only, locked, not a database, another
  // program's database, corrupt, newer schema, disk full.
  static Result<std::unique_ptr<Db>> Open(const std::string& path, const DbOptions& options = {});
  ~Db();
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }
  int64_t LastRowId() const;

  Result<void> Execute(const std::string& sql);
  Result<int64_t> QueryInt(const std::string& sql);  // first column of the first row
  Result<int64_t> SchemaVersion() { return QueryInt("PRAGMA user_version"); }

  // Reads every page. kIo with the first problem found.
  Result<void> CheckIntegrity();

  // The last SQLite failure of this connection as a message for people. `verb`: open, read, write.
  Error SqliteError(const std::string& verb) const;

 private:
  Db(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  Result<void> Configure(const DbOptions& options);
  Result<void> CheckVersion(bool read_only);
  Result<void> UseWal(int timeout_ms);
  Result<void> Migrate();
  Result<void> MigrateLocked();

  std::string path_;
  sqlite3* handle_;
};

// Version of the SQLite library in this process, for the record of a build.
const char* SqliteVersion();

// Rolls back unless committed. Takes the write lock at once, so that two writers queue instead of
// failing in the middle.
class Transaction {
 public:
  static Result<Transaction> Begin(Db& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> Commit();

 private:
  explicit Transaction(Db& db) : db_(&db) {}
  Db* db_;
};

// $FUSEMARK_DB, else ${XDG_DATA_HOME:-$HOME/.local/share}/fusemark/fusemark.db, else fusemark.db.
std::string DefaultDbPath();

// "2026-01-31T12:34:56Z".
std::string UtcNow();

}  // namespace fusemark
