#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/tables/table_cells.h"
#include "cli/tables/table_formats.h"

namespace inlier {
namespace {

// Characters that TeX takes for commands or lacks, each with what is written for it.
constexpr std::string_view kCommands =
    "& \\& % \\% $ \\$ # \\# _ \\_ { \\{ } \\} ~ \\textasciitilde{} ^ \\textasciicircum{} \\ "
    "\\textbackslash{} "
    "< \\textless{} > \\textgreater{} | \\textbar{} ` \\textasciigrave{} \u2009 \\, \u202f \\, ✓ "
    "\\checkmark{} "
    "✔ \\checkmark{} ✗ \\ding{55} ✘ \\ding{55}";

// Characters that pdfLaTeX's usual fonts lack, each with its mathematics.
constexpr std::string_view kMathematics =
    "≤ \\le ≥ \\ge ≈ \\approx ≠ \\ne ≡ \\equiv ≃ \\simeq ∼ \\sim ∝ \\propto ≪ \\ll ≫ \\gg ∞ \\infty "
    "→ \\to ← \\leftarrow ↔ \\leftrightarrow ↑ \\uparrow ↓ \\downarrow ⇒ \\Rightarrow ⇐ \\Leftarrow "
    "⇔ \\Leftrightarrow ∈ \\in ∉ \\notin ⊂ \\subset ⊆ \\subseteq ∩ \\cap ∪ \\cup ∅ \\emptyset "
    "∀ \\forall ∃ \\exists ∑ \\sum ∏ \\prod ∫ \\int ∂ \\partial ∇ \\nabla √ \\surd ∘ \\circ "
    "⋅ \\cdot ⊕ \\oplus ⊗ \\otimes ⊙ \\odot ∥ \\parallel ⊥ \\perp ℓ \\ell ★ \\star ● \\bullet "
    "○ \\circ ± \\pm † ^{\\dagger} − - × \\times α \\alpha β \\beta γ \\gamma δ \\delta ε \\epsilon "
    "ζ \\zeta η \\eta θ \\theta ι \\iota κ \\kappa λ \\lambda μ \\mu ν \\nu ξ \\xi π \\pi ρ \\rho "
    "σ \\sigma ς \\varsigma τ \\tau υ \\upsilon φ \\phi χ \\chi ψ \\psi ω \\omega ϑ \\vartheta "
    "ϕ \\varphi ϵ \\epsilon Γ \\Gamma Δ \\Delta Θ \\Theta Λ \\Lambda Ξ \\Xi Π \\Pi Σ \\Sigma "
    "Υ \\Upsilon Φ \\Phi Ψ \\Psi Ω \\Omega Α \\mathrm{A} Β \\mathrm{B} Ε \\mathrm{E} Ζ \\mathrm{Z} "
    "Η \\mathrm{H} Ι \\mathrm{I} Κ \\mathrm{K} Μ \\mathrm{M} Ν \\mathrm{N} Ο \\mathrm{O} "
    "Ρ \\mathrm{P} Τ \\mathrm{T} Χ \\mathrm{X} ο \\mathrm{o} ⁰ ^{0} ⁴ ^{4} ⁵ ^{5} ⁶ ^{6} ⁷ ^{7} "
    "⁸ ^{8} ⁹ ^{9} ⁺ ^{+} ⁻ ^{-} ⁿ ^{n} ₀ _{0} ₁ _{1} ₂ _{2} ₃ _{3} ₄ _{4} ₅ _{5} ₆ _{6} ₇ _{7} "
    "₈ _{8} ₉ _{9}";

const std::vector<std::pair<std::string_view, std::string>>& Replacements() {
  static const auto& replacements = *[] {
    auto* all = new std::vector<std::pair<std::string_view, std::string>>();
    for (const auto& [list, sign] : {std::pair(kCommands, ""), std::pair(kMathematics, "$")}) {
      std::string_view rest = list;
      const auto word = [&rest] {
        const std::string_view first = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(first.size() + 1, rest.size()));
        return first;
      };
      while (!rest.empty()) {
        const std::string_view character = word();
        all->emplace_back(character, absl::StrCat(sign, std::string(word()), sign));
      }
    }
    return all;
  }();
  return replacements;
}

std::string LatexEscaped(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const auto found =
        std::ranges::find_if(Replacements(), [&](const auto& one) { return text.starts_with(one.first); });
    if (found != Replacements().end()) {
      escaped += found->second;
      text.remove_prefix(found->first.size());
      continue;
    }
    // A minus, not a hyphen, before a number that begins a word.
    const bool begins =
        escaped.empty() || std::string_view(" =([,").find(escaped.back()) != std::string_view::npos;
    if (begins && text.size() > 1 && text[0] == '-' &&
        (std::isdigit(static_cast<unsigned char>(text[1])) != 0)) {
      escaped += "$-$";
    } else {
      escaped += text[0];
    }
    text.remove_prefix(1);
  }
  return escaped;
}

// Characters that a message names, at most.
constexpr std::size_t kCharactersNamedBytes = 80;

// True when pdfLaTeX has this character, of several bytes, in its fonts: most of Latin, and some signs.
bool IsLatin(std::string_view character) {
  constexpr std::string_view kLacking[] = {"«", "»", "Ð", "Þ", "ð", "þ", "Ą", "ą", "Đ", "đ", "Ę", "ę", "Ħ",
                                           "ħ", "Į", "į", "ĸ", "ŉ", "Ŋ", "ŋ", "Ŧ", "ŧ", "Ų", "ų", "ſ"};
  constexpr std::string_view kSigns[] = {"–", "—", "‘", "’", "“", "”", "•", "…", "‰", "™", "€"};
  if (character > "\u017f")
    return std::find(std::begin(kSigns), std::end(kSigns), character) != std::end(kSigns);
  return character != "\u00ad" &&
         std::find(std::begin(kLacking), std::end(kLacking), character) == std::end(kLacking);
}

// Of a note: "^a" is raised.
std::string NoteText(const std::string& note) {
  std::string text;
  bool first = true;
  for (const absl::string_view part : absl::StrSplit(note, '^')) {
    std::string_view rest(part.data(), part.size());
    if (!first) {
      std::size_t letters = 0;
      while (letters < rest.size() && rest[letters] >= 'a' && rest[letters] <= 'z') ++letters;
      absl::StrAppend(&text, "\\textsuperscript{", std::string(rest.substr(0, letters)), "}");
      rest.remove_prefix(letters);
    }
    text += LatexEscaped(rest);
    first = false;
  }
  return text;
}

bool IsNumber(const std::string& text) { return text.find_first_not_of("-.0123456789") == std::string::npos; }

std::string MathNumber(const std::string& number) {
  if (number == "inf") return "$\\infty$";
  return number == "-inf" ? "$-\\infty$" : number;
}

// Numbers of one kind below one another: a column of siunitx, aligned at the point, and where some cell has more than
// a number a second one for that: the deviation and the marks.
class NumberColumn {
 public:
  void Add(const std::string& number, const std::string& rest) {
    any_ = any_ || !number.empty();
    has_rest_ = has_rest_ || !rest.empty();
    if (number.empty() || !IsNumber(number)) return;
    const std::size_t sign = number.starts_with('-') ? 1 : 0;
    const std::size_t point = std::min(number.find('.'), number.size());
    negative_ = negative_ || sign == 1;
    before_ = std::max(before_, point - sign);
    after_ = std::max(after_, number.size() - std::min(point + 1, number.size()));
  }

  bool any() const { return any_; }
  int width() const { return has_rest_ ? 2 : 1; }
  std::string Specification() const {
    if (!any_) return "c";
    const std::string format =
        absl::StrCat(negative_ ? "-" : "", std::max<std::size_t>(before_, 1), ".", after_);
    return absl::StrCat("S[table-format=", format, "]", has_rest_ ? "@{\\,}l" : "");
  }
  // A text over all of its columns.
  std::string Text(const std::string& text) const {
    return has_rest_ ? absl::StrCat("\\multicolumn{2}{c}{", text, "}") : absl::StrCat("{", text, "}");
  }
  std::string Cell(const std::string& number, const std::string& rest, bool bold) const {
    if (number.empty()) return Text(rest);
    const std::string weight = bold ? "\\bfseries " : "";
    const std::string shown =
        IsNumber(number) ? weight + number : absl::StrCat("{", weight, MathNumber(number), "}");
    return has_rest_ ? absl::StrCat(shown, " & ", rest) : shown;
  }

 private:
  bool any_ = false, has_rest_ = false, negative_ = false;
  std::size_t before_ = 0, after_ = 0;
};

std::string DeviationText(const std::string& deviation, bool bold) {
  if (deviation.empty()) return "";
  if (!bold) return absl::StrCat("$\\pm$ ", MathNumber(deviation));
  return absl::StrCat("{\\bfseries\\boldmath$\\pm$ ", MathNumber(deviation), "}");
}

// The text after the number of a cell: deviation, marks, remarks.
std::string RestOfOurs(const CellText& cell) {
  std::string rest = DeviationText(cell.deviation, cell.bold);
  if (cell.marks.starts_with('*')) rest += "\\textsuperscript{*}";
  if (cell.marks.ends_with("†")) rest += "\\textsuperscript{$\\dagger$}";
  if (!cell.remark.empty()) absl::StrAppend(&rest, rest.empty() ? "" : " ", LatexEscaped(cell.remark));
  return rest;
}

std::string RestOfPublished(const CellText& cell) {
  std::string rest = DeviationText(cell.published_deviation, /*bold=*/false);
  if (!cell.published_mark.empty()) absl::StrAppend(&rest, "\\textsuperscript{", cell.published_mark, "}");
  return rest;
}

std::string WordsOf(const CellText& cell) {
  std::string words = LatexEscaped(cell.words);
  if (words.ends_with('-')) words += "-";  // A dash.
  if (cell.marks.ends_with("†")) words += "\\textsuperscript{$\\dagger$}";
  return words;
}

// A column of the table: ours, and the paper's figures.
struct LatexColumn {
  NumberColumn ours, published;
};

std::vector<LatexColumn> ColumnsOf(const TableText& text) {
  std::vector<LatexColumn> columns(text.column_headings.size());
  for (const TableText::Row& row : text.rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const CellText& cell = row.cells[i];
      if (!cell.number.empty()) columns[i].ours.Add(cell.number, RestOfOurs(cell));
      columns[i].published.Add(cell.published, RestOfPublished(cell));
    }
  }
  return columns;
}

// The headings, in two lines where the paper's figures are next to ours.
std::string Headings(const v1::Table& table, const TableText& text, const std::vector<LatexColumn>& columns) {
  std::vector<std::string> above, below;
  std::string rules;
  for (std::size_t i = 0; i < text.row_headings.size(); ++i) {
    const std::string symbol =
        static_cast<int>(i) < table.row_symbols_size() ? table.row_symbols(static_cast<int>(i)) : "";
    above.push_back(symbol.empty() ? LatexEscaped(text.row_headings[i]) : absl::StrCat("$", symbol, "$"));
    below.emplace_back();
  }
  int place = static_cast<int>(above.size()) + 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string heading = LatexEscaped(text.column_headings[i]);
    const int ours = columns[i].ours.width();
    if (!columns[i].published.any()) {
      above.push_back(columns[i].ours.Text(heading));
      below.emplace_back(ours == 2 ? "&" : "");
      place += ours;
      continue;
    }
    const int width = ours + columns[i].published.width();
    above.push_back(absl::StrCat("\\multicolumn{", width, "}{c}{", heading, "}"));
    below.push_back(columns[i].ours.Text("ours"));
    below.push_back(columns[i].published.Text("paper"));
    absl::StrAppend(&rules, "\\cmidrule(lr){", place, "-", place + width - 1, "}");
    place += width;
  }
  std::string out = absl::StrCat(absl::StrJoin(above, " & "), " \\\\\n");
  if (!rules.empty()) absl::StrAppend(&out, rules, "\n", absl::StrJoin(below, " & "), " \\\\\n");
  return out;
}

// The labels of a row; those that repeat the row above are left out.
std::vector<std::string> RowLabels(const TableText& text, std::size_t row) {
  std::vector<std::string> labels;
  bool repeats = row > 0;
  for (std::size_t i = 0; i < text.rows[row].labels.size(); ++i) {
    const std::string& label = text.rows[row].labels[i];
    repeats = repeats && i + 1 < text.rows[row].labels.size() && label == text.rows[row - 1].labels[i];
    labels.push_back(repeats ? "" : LatexEscaped(label));
  }
  // \\ takes a bracket or a star that follows it for its own.
  if (!labels.empty() && (labels[0].starts_with('[') || labels[0].starts_with('*')))
    labels[0].insert(0, "{}");
  return labels;
}

}  // namespace

std::string CharactersWithoutPdfLatex(std::string_view text) {
  std::string found;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    const std::string_view character = text.substr(at, end - at);
    const bool known = character.size() == 1 || IsLatin(character);
    if (!known && found.find(character) == std::string::npos && found.size() < kCharactersNamedBytes)
      absl::StrAppend(&found, found.empty() ? "" : " ", std::string(character));
    at = end;
  }
  return found;
}

std::string WriteLatexTable(const v1::Table& table, const TableStyle& style) {
  const CellStyle cells = {.brackets = false, .differences = style.differences, .for_terminal = false};
  const TableText text = ToText(table, cells);
  const std::vector<LatexColumn> columns = ColumnsOf(text);
  std::string out =
      "\\begin{table}[tbp]\n"
      "\\centering\n";
  const std::string caption = CaptionOf(table, cells);
  if (!caption.empty()) absl::StrAppend(&out, "\\caption{", LatexEscaped(caption), "}\n");
  if (!table.label().empty()) {
    std::string label = OneLine(table.label());
    std::erase_if(label,
                  [](char c) { return std::string_view("{}\\%#~^&$").find(c) != std::string_view::npos; });
    absl::StrAppend(&out, "\\label{", label, style.differences ? "-differences" : "", "}\n");
  }
  absl::StrAppend(&out,
                  "\\sisetup{detect-weight=true}%\n"
                  "\\setlength{\\tabcolsep}{4pt}%\n"
                  "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
                  "\\begin{tabular}{",
                  std::string(text.row_headings.size(), 'l'));
  for (const LatexColumn& column : columns)
    absl::StrAppend(&out, column.ours.Specification(),
                    column.published.any() ? column.published.Specification() : "");
  absl::StrAppend(&out, "}\n\\toprule\n", Headings(table, text, columns), "\\midrule\n");
  for (std::size_t r = 0; r < text.rows.size(); ++r) {
    const TableText::Row& row = text.rows[r];
    std::vector<std::string> line = RowLabels(text, r);
    if (r > 0 && line.size() > 1 && row.labels[0] != text.rows[r - 1].labels[0]) out += "\\addlinespace\n";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const CellText& cell = row.cells[i];
      line.push_back(cell.number.empty() ? columns[i].ours.Text(WordsOf(cell))
                                         : columns[i].ours.Cell(cell.number, RestOfOurs(cell), cell.bold));
      if (columns[i].published.any())
        line.push_back(columns[i].published.Cell(cell.published, RestOfPublished(cell), /*bold=*/false));
    }
    absl::StrAppend(&out, absl::StrJoin(line, " & "), " \\\\\n");
  }
  out += "\\bottomrule\n\\end{tabular}}\n";
  if (!text.notes.empty()) {
    out += "\n\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\n";
    for (const std::string& note : text.notes)
      absl::StrAppend(&out, note.starts_with("- ") ? "-" : "", NoteText(note), "\\par\n");
    out += "\\end{minipage}\n";
  }
  const auto uses = [&out](const char* command, const char* package) {
    return out.find(command) == std::string::npos ? "" : package;
  };
  std::string head = absl::StrCat("% \\usepackage{booktabs,siunitx,graphicx", uses("\\checkmark", ",amssymb"),
                                  uses("\\ding", ",pifont"), "}\n");
  if (const std::string lacking = CharactersWithoutPdfLatex(out); !lacking.empty())
    absl::StrAppend(
        &head, "% pdfLaTeX has no character for ", lacking,
        ": compile with LuaLaTeX or XeLaTeX, and \\setmainfont (fontspec) of a font that has it\n");
  return absl::StrCat(head, out, "\\end{table}\n");
}

}  // namespace inlier
