#include "cli/table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_replace.h"
#include "core/runtime/printable.h"

namespace tributary::cli {
namespace {

// A character of well-formed UTF-8, which Printable leaves.
struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;  // on a terminal
};

Character CharacterAt(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {};
  const auto bytes = static_cast<std::size_t>(std::countl_one(first));
  char32_t code = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes && at + i < text.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
  }
  if (code >= 0x300 && code <= 0x36f) return {bytes, 0};  // combining accents
  // Blocks of Unicode 15 whose characters have East Asian width W or F.
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) ||
                    (code >= 0x20000 && code <= 0x3fffd);
  return {bytes, wide ? 2u : 1u};
}

std::size_t ColumnsOf(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = CharacterAt(text, at);
    columns += next.columns;
    at += next.bytes;
  }
  return columns;
}

// With an ellipsis if it has more columns than that.
std::string Shortened(std::string text, std::size_t most_columns) {
  std::size_t columns = 0, end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = CharacterAt(text, at);
    columns += next.columns;
    at += next.bytes;
    if (columns < most_columns) end = at;  // the ellipsis has room behind it
  }
  if (columns > most_columns) text.replace(end, std::string::npos, "…");
  return text;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.width = std::max(column.width, column.heading.size());
}

std::string Table::Text() const {
  Table fitted(columns_);
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      fitted.columns_[i].width = std::max(fitted.columns_[i].width, std::min(ColumnsOf(row[i]), kMaxWidth));
    }
  }
  std::string text = fitted.Heading() + "\n";
  for (const std::vector<std::string>& row : rows_) text += fitted.Line(row) + "\n";
  if (more_rows_ > 0) text += fmt::format("{} more\n", more_rows_);
  return text;
}

std::string Table::Heading() const {
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  return Line(headings);
}

std::string Table::Escaped(std::string_view cell) {
  // A long name in many rows is not copied for each.
  constexpr std::size_t kMaxBytes = 1024;
  std::string text = runtime::Printable(cell.substr(0, kMaxBytes));
  return Shortened(absl::StrReplaceAll(text, {{"\n", "\\n"}}), kMaxLastWidth);
}

std::string Table::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
    const bool right = columns_[i].align == Align::kRight;
    // Two columns that touch have a wider gap.
    if (i > 0) line += !right && columns_[i - 1].align == Align::kRight ? "  " : " ";
    const bool last = i + 1 == columns_.size();
    const std::string cell = last ? cells[i] : Shortened(cells[i], kMaxWidth);
    const std::size_t columns = ColumnsOf(cell);
    const std::string fill(columns_[i].width - std::min(columns_[i].width, columns), ' ');
    line += right ? fill + cell : cell + fill;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace tributary::cli
