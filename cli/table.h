// Tables on a terminal.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
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

// Cells may come from a peer: control characters in them are escaped, and a cell that is too wide ends with
// an ellipsis, so that no cell moves the columns after it. Rows may come from a peer, too: an answer of 4 MB
// holds two million empty ones.
class Table {
 public:
  // More than the nodes of the largest run; the rest is counted.
  static constexpr std::size_t kMaxRows = 10'000;
  // A column is no wider, so that one long cell does not widen every row. The longest name fits.
  static constexpr std::size_t kMaxWidth = 128;
  // The last column moves nothing.
  static constexpr std::size_t kMaxLastWidth = 240;

  explicit Table(std::vector<Column> columns);

  // A cell for each column, of anything that fmt prints. Columns without one stay empty.
  template <class... Cells>
  void Add(const Cells&... cells) {
    if (rows_.size() < kMaxRows) {
      rows_.push_back({Cell(cells)...});
    } else {
      ++more_rows_;
    }
  }

  bool empty() const { return rows_.empty(); }
  // The headings and the rows, and how many more there are. A column is as wide as its longest cell.
  std::string Text() const;

  // For rows that are shown one by one, with the declared widths; without line break.
  std::string Heading() const;
  template <class... Cells>
  std::string Row(const Cells&... cells) const {
    return Line({Cell(cells)...});
  }

 private:
  template <class Value>
  static std::string Cell(const Value& value) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      return Escaped(value);
    } else {
      return Escaped(fmt::format("{}", value));
    }
  }
  static std::string Escaped(std::string_view cell);
  std::string Line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::size_t more_rows_ = 0;
};

}  // namespace tributary::cli
