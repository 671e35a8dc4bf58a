// A prepared statement that is run with its values in one call.
//
// Not part of the store's interface: for the .cc files of this folder. Errors are SQLite::Exception; the
// caller turns them into a Status.
#ifndef INLIER_COORDINATOR_STORE_STATEMENT_H_
#define INLIER_COORDINATOR_STORE_STATEMENT_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/strong_id.h"
#include "base/time.h"

namespace inlier {

// Bytes that are no text.
struct Blob {
  const std::string& bytes;
};

class BoundStatement {
 public:
  BoundStatement(SQLite::Database& database, const char* sql) : statement_(database, sql) {}

  // Runs it to the end with ?1, ?2, … bound; returns the number of rows it changed. Texts must outlive the
  // call only.
  template <typename... Values>
  int Run(const Values&... values) {
    statement_.tryReset();
    int index = 0;
    (Bind(++index, values), ...);
    const int changed = statement_.exec();
    statement_.tryReset();
    return changed;
  }

 private:
  void Bind(int index, const std::string& value) { statement_.bindNoCopy(index, value); }
  void Bind(int index, const Blob& value) {
    statement_.bindNoCopy(index, value.bytes.data(), static_cast<int>(value.bytes.size()));
  }
  void Bind(int index, double value) { statement_.bind(index, value); }
  void Bind(int index, WallTime value) { statement_.bind(index, static_cast<std::int64_t>(value.unix_ms)); }
  template <typename Tag>
  void Bind(int index, const StrongId<Tag>& value) {
    statement_.bind(index, value.value());
  }
  template <typename Value>
  requires std::is_integral_v<Value>
  void Bind(int index, Value value) { statement_.bind(index, static_cast<std::int64_t>(value)); }
  template <typename Value>
  void Bind(int index, const std::optional<Value>& value) {
    if (value.has_value()) {
      Bind(index, *value);
    } else {
      statement_.bind(index);
    }
  }

  SQLite::Statement statement_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_STATEMENT_H_
