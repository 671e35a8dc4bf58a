// The forms of a table, a file each; table_writer.h picks one. Pure functions.
#ifndef INLIER_CLI_TABLES_TABLE_FORMATS_H_
#define INLIER_CLI_TABLES_TABLE_FORMATS_H_

#include <string>
#include <string_view>

#include "cli/tables/table_writer.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

std::string WriteTextTable(const v1::Table& table, const TableStyle& style);
std::string WriteMarkdownTable(const v1::Table& table, const TableStyle& style);
// Everything that the cells have, in full; RFC 4180.
std::string WriteCsvTable(const v1::Table& table);
// A table environment for booktabs, siunitx (2 or 3) and graphicx; its notes are printed below it.
std::string WriteLatexTable(const v1::Table& table, const TableStyle& style);
// The characters of a text for which pdfLaTeX has no font, one after the other; "" where it compiles with any engine.
std::string CharactersWithoutPdfLatex(std::string_view text);
// A fragment: a <table> and its notes, which needs no style sheet.
std::string WriteHtmlTable(const v1::Table& table, const TableStyle& style);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_FORMATS_H_
