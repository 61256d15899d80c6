#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "core/wire/peer.h"

namespace tributary::cli {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.width = std::max(column.width, column.heading.size());
}

std::string Table::Text() const {
  Table fitted(columns_);
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      fitted.columns_[i].width = std::max(fitted.columns_[i].width, std::min(row[i].size(), kMaxWidth));
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
  // PeerText shortens it further. A long name in many rows is not copied for each.
  constexpr std::size_t kMaxBytes = 1024;
  return wire::PeerText(std::string(cell.substr(0, kMaxBytes)));
}

std::string Table::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
    const bool right = columns_[i].align == Align::kRight;
    // Two columns that touch have a wider gap.
    if (i > 0) line += !right && columns_[i - 1].align == Align::kRight ? "  " : " ";
    line += right ? fmt::format("{:>{}}", cells[i], columns_[i].width)
                  : fmt::format("{:<{}}", cells[i], columns_[i].width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace tributary::cli
