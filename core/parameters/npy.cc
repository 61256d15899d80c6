#include "core/parameters/npy.h"

#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/parameters/tensor.h"
#include "core/status/macros.h"

namespace tributary::parameters {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kMaxDimensions = 32;  // NumPy's own limit

absl::Status NpyFault(std::size_t offset, std::string_view what) {
  return absl::DataLossError(absl::StrCat("npy: ", std::string(what), " (offset ", offset, ")"));
}

// The header is the text of a Python dictionary with the keys descr, fortran_order and shape, in any order.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::size_t offset) : text_(text), end_(offset + text.size()) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;

  absl::Status Read() {
    if (!Take("{")) return Here("header is not a dictionary");
    unsigned seen = 0;
    while (!Take("}")) {
      const auto key = TakeString();
      if (!key || !Take(":")) return Here("expected a key in the header");
      const unsigned bit = *key == "descr" ? 1 : *key == "fortran_order" ? 2 : *key == "shape" ? 4 : 0;
      if (bit == 0) return Here(absl::StrCat("unknown key \"", *key, "\" in the header"));
      if (seen & bit) return Here(absl::StrCat("key \"", *key, "\" twice in the header"));
      seen |= bit;
      if (!(bit == 1 ? TakeDescr() : bit == 2 ? TakeBool() : TakeShape())) {
        return Here(absl::StrCat("cannot read \"", *key, "\" in the header"));
      }
      if (!Take(",") && Peek() != '}') return Here("expected a comma in the header");
    }
    if (Peek() != '\0') return Here("text after the header's dictionary");
    if (seen != 7) return Here("header needs descr, fortran_order and shape");
    return absl::OkStatus();
  }

 private:
  absl::Status Here(std::string_view what) const { return NpyFault(end_ - text_.size(), what); }

  // The next character that is not white space; '\0' at the end.
  char Peek() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool Take(std::string_view word) {
    Peek();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> TakeString() {
    const char quote = Peek();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : text_.npos;
    if (end == text_.npos) return std::nullopt;
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  bool TakeDescr() {
    auto value = TakeString();
    if (value) descr = *value;
    return value.has_value();
  }
  bool TakeBool() {
    fortran_order = Take("True");
    return fortran_order || Take("False");
  }
  bool TakeShape() {
    if (!Take("(")) return false;
    while (!Take(")")) {
      Peek();
      std::uint64_t extent = 0;
      const auto [rest, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || shape.size() == kMaxDimensions) return false;
      text_.remove_prefix(static_cast<std::size_t>(rest - text_.data()));
      shape.push_back(extent);
      if (!Take(",") && Peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;  // what is left
  std::size_t end_;        // of the header, in the file
};

template <class Element>
std::vector<float> Convert(std::string_view data) {
  // One by one: a recording is large, and a second copy of it is not needed.
  std::vector<float> values(data.size() / sizeof(Element));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element element;
    std::memcpy(&element, data.data() + i * sizeof(Element), sizeof(Element));
    values[i] = static_cast<float>(element);
  }
  return values;
}

}  // namespace

absl::StatusOr<NpyFile> OpenNpy(std::string_view file) {
  if (file.substr(0, kMagic.size()) != kMagic) {
    if (file.substr(0, 2) == "PK")
      return NpyFault(0, "an .npz archive; save one array of it with numpy.save");
    return NpyFault(0, "not an npy file");
  }
  if (file.size() < kMagic.size() + 2) return NpyFault(file.size(), "file ends in the version");
  const int major = static_cast<unsigned char>(file[6]);
  if (major != 1 && major != 2)
    return NpyFault(6, absl::StrCat("version ", major, " is not supported, only 1 and 2"));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t start = kMagic.size() + 2 + length_bytes;
  if (file.size() < start) return NpyFault(file.size(), "file ends in the header's length");
  std::uint32_t length = 0;
  std::memcpy(&length, file.data() + kMagic.size() + 2, length_bytes);
  if (length > file.size() - start) return NpyFault(file.size(), "file ends in the header");

  HeaderReader header(file.substr(start, length), start);
  RETURN_IF_ERROR(header.Read());
  if (header.fortran_order && header.shape.size() > 1) {
    return absl::InvalidArgumentError("npy: the array is in Fortran order, only C order is read");
  }
  return NpyFile{std::move(header.descr), std::move(header.shape), file.substr(start + length)};
}

absl::StatusOr<NpyArray> DecodeNpy(std::string_view file) {
  ASSIGN_OR_RETURN(NpyFile npy, OpenNpy(file));
  const bool is_double = npy.type == "<f8";
  if (!is_double && npy.type != "<f4") {
    return absl::InvalidArgumentError(
        absl::StrCat("npy: elements are \"", npy.type, "\", only \"<f4\" and \"<f8\" are read"));
  }
  const auto count = ElementCount(npy.shape);
  const std::size_t element = is_double ? sizeof(double) : sizeof(float);
  if (!count || *count != npy.bytes.size() / element || npy.bytes.size() % element != 0) {
    return NpyFault(file.size() - npy.bytes.size(),
                    absl::StrCat(npy.bytes.size(), " bytes of data do not fit the shape"));
  }
  return NpyArray{std::move(npy.shape), is_double ? Convert<double>(npy.bytes) : Convert<float>(npy.bytes)};
}

std::string EncodeNpy(std::span<const std::uint64_t> shape, std::span<const float> values) {
  return EncodeNpy("<f4", shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

std::string EncodeNpy(std::string_view type, std::span<const std::uint64_t> shape, std::string_view bytes) {
  std::string text = absl::StrCat("{'descr': '", std::string(type), "', 'fortran_order': False, 'shape': (");
  for (const std::uint64_t extent : shape) absl::StrAppend(&text, extent, ",");
  text += "), }";
  // Data starts at a multiple of 64 bytes; the header ends in a line feed.
  constexpr std::size_t kPrefix = 10;
  text.resize((kPrefix + text.size() + 1 + 63) / 64 * 64 - kPrefix - 1, ' ');
  text += '\n';

  std::string file(kMagic);
  file += std::string("\x01\x00", 2);
  file += static_cast<char>(text.size() & 0xff);
  file += static_cast<char>(text.size() >> 8);
  file += text;
  file += bytes;
  return file;
}

}  // namespace tributary::parameters
