// One prepared SQL statement. Binds by position (from 1), reads columns by position (from 0). Every
// failure carries the database's path and what to do about it (SqliteError in db.h). Not copied,
// not shared between threads, must not outlive its Db.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

struct sqlite3_stmt;

namespace fusemark {

class Db;

class Statement {
 public:
  static Result<Statement> Prepare(Db& db, std::string_view sql);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Binds all parameters in order. Binding cannot fail for well-formed statements (checked).
  template <class... Values>
  Statement& Bind(const Values&... values) {
    int position = 0;
    (BindOne(++position, values), ...);
    return *this;
  }

  Result<bool> Step();  // true: a row is there; false: done
  Result<void> Run();   // for statements without rows; resets, so that it can be bound again
  void Reset();

  bool IsNull(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  std::vector<uint8_t> Blob(int column) const;
  std::optional<int64_t> OptionalInt(int column) const;
  std::optional<double> OptionalReal(int column) const;

 private:
  Statement(Db& db, sqlite3_stmt* statement) : db_(&db), statement_(statement) {}
  void BindOne(int position, int64_t value);
  void BindOne(int position, int value) { BindOne(position, static_cast<int64_t>(value)); }
  void BindOne(int position, bool value) { BindOne(position, static_cast<int64_t>(value)); }
  void BindOne(int position, double value);
  void BindOne(int position, std::string_view value);
  void BindOne(int position, const std::string& value) {
    BindOne(position, std::string_view(value));
  }
  void BindOne(int position, const char* value) { BindOne(position, std::string_view(value)); }
  void BindOne(int position, const std::vector<uint8_t>& value);
  void BindNull(int position);
  template <class T>
  void BindOne(int position, const std::optional<T>& value) {
    if (value) {
      BindOne(position, *value);
    } else {
      BindNull(position);
    }
  }

  Db* db_;
  sqlite3_stmt* statement_;
};

}  // namespace fusemark
