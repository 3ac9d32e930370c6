#include "results_db/statement.h"

#include <sqlite3.h>

#include <utility>

#include "results_db/db.h"

namespace fusemark {

Result<Statement> Statement::Prepare(Db& db, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(db.handle(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  if (status != SQLITE_OK) return db.SqliteError("read");
  return Statement(db, statement);
}

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Result<bool> Statement::Step() {
  const int status = sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  Error error = db_->SqliteError(sqlite3_stmt_readonly(statement_) ? "read" : "write");
  sqlite3_reset(statement_);
  return error;
}

Result<void> Statement::Run() {
  FM_TRY(const bool row, Step());
  FM_CHECK(!row, "statement returned a row");
  Reset();
  return Ok();
}

void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::Real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return text == nullptr ? std::string() : std::string(text, static_cast<size_t>(size));
}

std::vector<uint8_t> Statement::Blob(int column) const {
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::vector<uint8_t>() : std::vector<uint8_t>(data, data + size);
}

std::optional<int64_t> Statement::OptionalInt(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Int(column);
}

std::optional<double> Statement::OptionalReal(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Real(column);
}

void Statement::BindOne(int position, int64_t value) {
  FM_CHECK(sqlite3_bind_int64(statement_, position, value) == SQLITE_OK);
}

void Statement::BindOne(int position, double value) {
  FM_CHECK(sqlite3_bind_double(statement_, position, value) == SQLITE_OK);
}

void Statement::BindOne(int position, std::string_view value) {
  // A null pointer would bind NULL instead of an empty text.
  const char* data = value.data() == nullptr ? "" : value.data();
  FM_CHECK(sqlite3_bind_text64(statement_, position, data, value.size(), SQLITE_TRANSIENT,
                               SQLITE_UTF8) == SQLITE_OK);
}

void Statement::BindOne(int position, const std::vector<uint8_t>& value) {
  if (value.empty()) {
    FM_CHECK(sqlite3_bind_zeroblob(statement_, position, 0) == SQLITE_OK);
    return;
  }
  FM_CHECK(sqlite3_bind_blob64(statement_, position, value.data(), value.size(),
                               SQLITE_TRANSIENT) == SQLITE_OK);
}

void Statement::BindNull(int position) {
  FM_CHECK(sqlite3_bind_null(statement_, position) == SQLITE_OK);
}

}  // namespace fusemark
