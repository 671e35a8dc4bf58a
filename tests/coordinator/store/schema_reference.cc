#include "tests/coordinator/store/schema_reference.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/database.h"
#include "coordinator/store/views/param_view.h"

namespace inlier {
namespace {

std::string Trim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

std::string Cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

// Comments of whole lines, by the line that follows them: "CREATE TABLE sweep (" -> "An ablation as
// submitted."
std::vector<std::pair<std::string, std::string>> CommentedStatements(const std::string& sql) {
  std::vector<std::pair<std::string, std::string>> result;
  std::istringstream lines(sql);
  std::string comment;
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 3, "-- ") == 0) {
      absl::StrAppend(&comment, comment.empty() ? "" : " ", line.substr(3));
    } else {
      if (line.compare(0, 7, "CREATE ") == 0) result.emplace_back(line, comment);
      comment.clear();
    }
  }
  return result;
}

// Columns of a stored CREATE TABLE: name, type, the comment at the end of its line.
void AppendTableColumns(const std::string& create, std::string& out) {
  std::istringstream lines(create);
  std::string line;
  std::getline(lines, line);
  absl::StrAppend(&out, "| column | type | |\n|---|---|---|\n");
  while (std::getline(lines, line)) {
    const std::size_t comment = line.find("-- ");
    if (comment == std::string::npos || line.compare(0, 2, "  ") != 0) continue;
    std::istringstream words(line.substr(0, comment));
    std::string name;
    std::string type;
    words >> name >> type;
    while (!type.empty() && type.back() == ',') type.pop_back();
    absl::StrAppend(&out, "| ", name, " | ", type, " | ", Cell(Trim(line.substr(comment + 3))), " |\n");
  }
}

// Columns that later migrations added: ALTER TABLE <table> ADD COLUMN <name> <type> ...; -- <comment>
void AppendAddedColumns(const std::string& table, std::string& out) {
  const std::string start = absl::StrCat("ALTER TABLE ", table, " ADD COLUMN ");
  for (const Migration& migration : BuiltinMigrations()) {
    std::istringstream lines(migration.sql);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t comment = line.find("; -- ");
      if (line.compare(0, start.size(), start) != 0 || comment == std::string::npos) continue;
      std::istringstream words(line.substr(start.size(), comment - start.size()));
      std::string name;
      std::string type;
      words >> name >> type;
      absl::StrAppend(&out, "| ", name, " | ", type, " | ", Cell(line.substr(comment + 5)), " |\n");
    }
  }
}

}  // namespace

std::string SchemaReference() {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  std::vector<std::pair<std::string, std::string>> comments;
  for (const Migration& migration : BuiltinMigrations()) {
    database.exec(migration.sql);
    for (auto& entry : CommentedStatements(migration.sql)) comments.push_back(std::move(entry));
  }
  const auto comment_of = [&](const std::string& start) -> std::string {
    for (const auto& [line, comment] : comments) {
      if (line.compare(0, start.size(), start) == 0) return comment;
    }
    return "";
  };

  std::string out = absl::StrCat(
      "<!-- Written from coordinator/store (how: tests/coordinator/store/schema_test.cc). Do not edit. "
      "-->\n"
      "# The database\n\n"
      "`inlier.db` in the state folder, SQLite, schema version ",
      BuiltinMigrations().back().to_version,
      ". Query the views; read it while the coordinator runs with\n"
      "`sqlite3 'file:STATE_DIR/inlier.db?mode=ro'` or `inlier query`. Never write to it: the coordinator "
      "alone does. The tables behind the views are internal\n"
      "and may change with any version. `trials`, `results` and `distinct_results` also have a column for "
      "each "
      "parameter of the programs of one's own whose sweeps are\n"
      "stored, and the last two one for each of their measurements; those are not listed here.\n\n## "
      "Views\n");
  for (const View& view : UserViews()) {
    absl::StrAppend(&out, "\n### ", view.name, "\n\n", view.comment, "\n\n| column | |\n|---|---|\n");
    for (const ViewColumn& column : view.columns)
      absl::StrAppend(&out, "| ", column.name, " | ", Cell(column.comment), " |\n");
  }
  absl::StrAppend(&out, "\n## Tables\n\nInternal. Times are milliseconds since 1970 UTC.\n");
  SQLite::Statement tables(
      database,
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid");
  while (tables.executeStep()) {
    const std::string name = tables.getColumn(0).getString();
    absl::StrAppend(&out, "\n### ", name, "\n\n", comment_of(absl::StrCat("CREATE TABLE ", name, " ")),
                    "\n\n");
    AppendTableColumns(tables.getColumn(1).getString(), out);
    AppendAddedColumns(name, out);
  }
  absl::StrAppend(&out, "\n## Rules the database itself keeps\n\n");
  SQLite::Statement unique(database,
                           "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE "
                           "UNIQUE%' ORDER BY rowid");
  while (unique.executeStep()) {
    absl::StrAppend(&out, "- `", unique.getColumn(0).getString(), "`: `", unique.getColumn(1).getString(),
                    "`\n");
  }
  SQLite::Statement triggers(database,
                             "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid");
  std::string last;
  while (triggers.executeStep()) {
    const std::string name = triggers.getColumn(0).getString();
    const std::string comment = comment_of(absl::StrCat("CREATE TRIGGER ", name, " "));
    if (!comment.empty()) last = comment;
    absl::StrAppend(&out, "- `", name, "`: ", last, "\n");
  }
  return out;
}

}  // namespace inlier
