#include "results_db/db.h"

#include <sqlite3.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <thread>

#include "results_db/migrations.h"
#include "results_db/statement.h"

namespace fusemark {
namespace {

namespace fs = std::filesystem;

// "FSMK": tells our files from other programs' SQLite files.
constexpr int64_t kApplicationId = 0x46534d4b;

Error Io(std::string message) {
  return {Code::kIo, std::move(message)};
}

std::string Quoted(const std::string& path) {
  return "database '" + path + "'";
}

Result<void> CheckPath(const std::string& path, bool read_only) {
  std::error_code ignored;
  if (path.empty()) return Io("the database path is empty: name a file with --db FILE");
  if (fs::is_directory(path, ignored)) {
    return Io(Quoted(path) + " is a directory: name a file, for example '" +
              (fs::path(path) / "fusemark.db").string() + "'");
  }
  const bool exists = fs::exists(path, ignored);
  if (read_only && !exists) {
    return Io(Quoted(path) + " does not exist: 'fusemark run' creates it, or name another with " +
              "--db FILE");
  }
  const fs::path directory = fs::path(path).parent_path();
  if (!exists && !directory.empty()) {
    std::error_code failed;
    fs::create_directories(directory, failed);
    if (failed) {
      return Io("cannot create directory '" + directory.string() + "' for the " + Quoted(path) +
                ": " + failed.message());
    }
  }
  return Ok();
}

}  // namespace

const char* SqliteVersion() {
  return sqlite3_libversion();
}

Error Db::SqliteError(const std::string& verb) const {
  const int extended = sqlite3_extended_errcode(handle_);
  const std::string detail = sqlite3_errmsg(handle_);
  const std::string what = Quoted(path_);
  switch (extended & 0xff) {
    case SQLITE_NOTADB:
      return Io(what + " is not a database: the file has other content; move it away or name " +
                "another with --db FILE");
    case SQLITE_CORRUPT:
      return Io(what + " is corrupt (" + detail + "): move it away and start a new one, or " +
                "rescue its rows with 'sqlite3 FILE .recover'");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Io(what + " is locked by another process: wait until it is done, or name another " +
                "with --db FILE");
    case SQLITE_READONLY:
      return Io(what + " is read-only: no permission to " + verb + " it or its directory");
    case SQLITE_FULL:
      return Io("cannot write " + what + ": the disk is full (or a size limit is reached); " +
                "nothing of this step was stored");
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH: {
      const int os_error = sqlite3_system_errno(handle_);
      return Io("cannot " + verb + " " + what + ": " +
                (os_error != 0 ? std::strerror(os_error) : detail.c_str()));
    }
    // The system's errno is often lost by the time SQLite reports, so both causes are named.
    case SQLITE_IOERR: {
      const bool growing = extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_SHMSIZE ||
                           extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_TRUNCATE;
      return Io("cannot " + verb + " " + what + ": " + detail +
                (growing ? "; the disk may be full or a file size limit reached; nothing of this "
                           "step was stored"
                         : ""));
    }
    default: return Io("cannot " + verb + " " + what + ": " + detail);
  }
}

Result<std::unique_ptr<Db>> Db::Open(const std::string& path, const DbOptions& options) {
  FM_RETURN_IF_ERROR(CheckPath(path, options.read_only));
  const int flags =
      (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
      SQLITE_OPEN_NOMUTEX;
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (handle == nullptr) return Io("cannot open " + Quoted(path) + ": out of memory");
  std::unique_ptr<Db> db(new Db(path, handle));
  if (status != SQLITE_OK) return db->SqliteError("open");
  FM_RETURN_IF_ERROR(db->Configure(options));
  return db;
}

Db::~Db() {
  sqlite3_close_v2(handle_);
}

Result<void> Db::Configure(const DbOptions& options) {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, options.busy_timeout_ms);
  FM_RETURN_IF_ERROR(Execute("PRAGMA foreign_keys = ON"));
  FM_RETURN_IF_ERROR(CheckVersion(options.read_only));
  if (options.read_only) return Ok();
  // SQLite falls back to reading when it may not write; we would only notice at the first insert.
  if (sqlite3_db_readonly(handle_, "main") == 1) {
    return Io(Quoted(path_) + " is read-only: no permission to write it");
  }
  if (options.max_bytes > 0) {
    FM_TRY(const int64_t page_size, QueryInt("PRAGMA page_size"));
    const int64_t pages = std::max<int64_t>(1, options.max_bytes / page_size);
    FM_RETURN_IF_ERROR(Execute("PRAGMA max_page_count = " + std::to_string(pages)));
  }
  FM_RETURN_IF_ERROR(UseWal(options.busy_timeout_ms));
  FM_RETURN_IF_ERROR(Execute("PRAGMA synchronous = NORMAL"));
  return Migrate();
}

Result<void> Db::CheckVersion(bool read_only) {
  FM_TRY(const int64_t version, SchemaVersion());
  FM_TRY(const int64_t application, QueryInt("PRAGMA application_id"));
  FM_TRY(const int64_t objects, QueryInt("SELECT count(*) FROM sqlite_schema"));
  const auto newest = static_cast<int64_t>(Migrations().size());
  if (application != kApplicationId && (application != 0 || objects > 0)) {
    return Io(Quoted(path_) + " belongs to another program: name another with --db FILE");
  }
  if (version > newest) {
    return Io(Quoted(path_) + " has schema version " + std::to_string(version) +
              ", this program knows up to " + std::to_string(newest) +
              ": use a newer fusemark or name another with --db FILE");
  }
  if (read_only && version < newest) {
    return Io(Quoted(path_) + " has schema version " + std::to_string(version) + ", expected " +
              std::to_string(newest) + ": 'fusemark run --db FILE' brings it up to date");
  }
  return Ok();
}

// Switching to WAL needs the file for itself for a moment, and SQLite does not wait for it.
Result<void> Db::UseWal(int timeout_ms) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  for (;;) {
    Result<void> switched = Execute("PRAGMA journal_mode = WAL");
    if (switched.ok()) return switched;
    if ((sqlite3_errcode(handle_) & 0xff) != SQLITE_BUSY) return switched;
    if (std::chrono::steady_clock::now() >= deadline) return switched;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Result<void> Db::Migrate() {
  FM_TRY(const int64_t version, SchemaVersion());
  if (version == static_cast<int64_t>(Migrations().size())) return Ok();
  FM_TRY(Transaction transaction, Transaction::Begin(*this));
  FM_RETURN_IF_ERROR(MigrateLocked());
  return transaction.Commit();
}

// Another process may have migrated while we waited for the lock: the version is read again.
Result<void> Db::MigrateLocked() {
  FM_RETURN_IF_ERROR(CheckVersion(false));
  FM_TRY(int64_t version, SchemaVersion());
  const auto newest = static_cast<int64_t>(Migrations().size());
  for (; version < newest; ++version) {
    FM_RETURN_IF_ERROR(Execute(std::string(Migrations()[static_cast<size_t>(version)].sql)));
  }
  FM_RETURN_IF_ERROR(Execute("PRAGMA application_id = " + std::to_string(kApplicationId)));
  return Execute("PRAGMA user_version = " + std::to_string(newest));
}

int64_t Db::LastRowId() const {
  return sqlite3_last_insert_rowid(handle_);
}

Result<void> Db::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return SqliteError("write");
  }
  return Ok();
}

Result<int64_t> Db::QueryInt(const std::string& sql) {
  FM_TRY(Statement statement, Statement::Prepare(*this, sql));
  FM_TRY(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

Result<void> Db::CheckIntegrity() {
  FM_TRY(Statement pages, Statement::Prepare(*this, "PRAGMA integrity_check(1)"));
  FM_TRY(const bool row, pages.Step());
  const std::string verdict = row ? pages.Text(0) : "no answer";
  if (verdict != "ok") return Io(Quoted(path_) + " is corrupt: " + verdict);
  FM_TRY(Statement keys, Statement::Prepare(*this, "PRAGMA foreign_key_check"));
  FM_TRY(const bool violation, keys.Step());
  if (violation) {
    return Io(Quoted(path_) + " is corrupt: table " + keys.Text(0) + " refers to a row of " +
              keys.Text(2) + " that does not exist");
  }
  return Ok();
}

Result<Transaction> Transaction::Begin(Db& db) {
  FM_RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  return Transaction(db);
}

Transaction::~Transaction() {
  // SQLite may have rolled back by itself (disk full); a second rollback would only fail.
  if (db_ != nullptr && sqlite3_get_autocommit(db_->handle()) == 0) {
    sqlite3_exec(db_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Result<void> Transaction::Commit() {
  FM_RETURN_IF_ERROR(db_->Execute("COMMIT"));
  db_ = nullptr;
  return Ok();
}

std::string DefaultDbPath() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (!set("FUSEMARK_DB").empty()) return set("FUSEMARK_DB");
  if (!set("XDG_DATA_HOME").empty()) return set("XDG_DATA_HOME") + "/fusemark/fusemark.db";
  if (!set("HOME").empty()) return set("HOME") + "/.local/share/fusemark/fusemark.db";
  return "fusemark.db";
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace fusemark
