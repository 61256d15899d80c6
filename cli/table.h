// Tables on a terminal.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tributary::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string heading;
  Align align = Align::kLeft;
  std::size_t width = 0;
};

// A column of texts or of numbers, at least as wide as its heading and `width`.
inline Column Left(std::string heading, std::size_t width = 0) {
  return {std::move(heading), Align::kLeft, width};
}
inline Column Right(std::string heading, std::size_t width = 0) {
  return {std::move(heading), Align::kRight, width};
}

// Cells may come from a peer: they are shortened, and control characters in them are escaped.
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // A cell for each column, of anything that fmt prints. Columns without one stay empty.
  template <class... Cells>
  void Add(const Cells&... cells) {
    rows_.push_back(Escaped({fmt::format("{}", cells)...}));
  }

  bool empty() const { return rows_.empty(); }
  // The headings and all rows. A column is as wide as its longest cell.
  std::string Text() const;

  // For rows that are shown one by one, with the declared widths; without line break.
  std::string Heading() const;
  template <class... Cells>
  std::string Row(const Cells&... cells) const {
    return Line(Escaped({fmt::format("{}", cells)...}));
  }

 private:
  static std::vector<std::string> Escaped(std::vector<std::string> cells);
  std::string Line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tributary::cli
