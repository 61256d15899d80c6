#include "core/parameters/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/macros.h"

namespace tributary::parameters {
namespace {

using Json = nlohmann::json;  // its objects are trees: a header of very many names is not slow to read

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxDepth = 3;  // { tensor: { shape: [ n ] } }
// A longer header is refused before it is parsed: room for kMaxNames tensors with long names.
constexpr std::size_t kMaxHeader = std::size_t{16} << 20;
// A tensor has five and one for each of its dimensions. The parser keeps some 100 bytes for each value.
constexpr std::ptrdiff_t kMaxCommas = 16 * kMaxNames;
constexpr std::string_view kMetadataKey = "__metadata__";

absl::Status Fault(std::size_t offset, std::string_view what) {
  return absl::DataLossError(absl::StrCat("safetensors: ", std::string(what), " (offset ", offset, ")"));
}

// Builds the tree of a header and ends the parsing at the first fault. The JSON library by itself keeps the
// last of two equal keys, and bounds neither depth nor number.
class HeaderParser : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit HeaderParser(Json& header) : json_sax_dom_parser(header, /*allow_exceptions=*/false) {}

  bool start_object(std::size_t size) { return Enter() && json_sax_dom_parser::start_object(size); }
  bool start_array(std::size_t size) { return Enter() && json_sax_dom_parser::start_array(size); }
  bool end_object() { return Leave() && json_sax_dom_parser::end_object(); }
  bool end_array() { return Leave() && json_sax_dom_parser::end_array(); }
  bool key(std::string& name) {
    if (!keys_.back().insert(name).second)
      return Fail(absl::StrCat("duplicate name \"", name, "\" in the header"));
    if (keys_.back().size() > kMaxNames) return Fail(absl::StrCat("more than ", kMaxNames, " names"));
    return json_sax_dom_parser::key(name);
  }
  const std::string& fault() const { return fault_; }

 private:
  bool Enter() {
    if (keys_.size() == kMaxDepth) return Fail("header nested too deeply");
    keys_.emplace_back();
    return true;
  }
  bool Leave() {
    keys_.pop_back();
    return true;
  }
  bool Fail(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  std::vector<std::set<std::string>> keys_;  // of each object or list that is open
  std::string fault_;
};

struct Entry {
  std::string name;
  Tensor tensor;  // without its bytes
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Empty, or what is wrong.
std::string ReadEntry(const Json& json, Entry& entry) {
  if (!json.is_object()) return "is not an object";
  for (const auto& item : json.items()) {
    if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets") {
      return absl::StrCat("has an unknown key \"", item.key(), "\"");
    }
  }
  if (json.size() != 3) return "needs dtype, shape and data_offsets";
  const Json& type = json["dtype"];
  const auto parsed = type.is_string() ? ParseElementType(type.get_ref<const std::string&>()) : std::nullopt;
  if (!parsed)
    return absl::StrCat("has an unsupported dtype ",
                        type.dump(-1, ' ', true, Json::error_handler_t::replace));
  entry.tensor.type = *parsed;

  const Json& shape = json["shape"];
  if (!shape.is_array()) return "has a shape that is not a list";
  const auto whole = [](const Json& number) { return number.is_number_unsigned(); };
  if (!std::all_of(shape.begin(), shape.end(), whole)) return "has a shape that is not of whole numbers";
  entry.tensor.shape = shape.get<std::vector<std::uint64_t>>();
  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), whole) ||
      offsets[0] > offsets[1]) {
    return "has data_offsets that are not [begin, end]";
  }
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  const auto count = ElementCount(entry.tensor.shape);
  const std::uint64_t bytes = entry.end - entry.begin;
  const std::uint64_t size = ElementSize(entry.tensor.type);
  if (!count || *count != bytes / size || bytes % size != 0)
    return "has a shape that does not fit its data_offsets";
  return "";
}

absl::Status ReadMetadata(const Json& json, TensorSet& set) {
  if (!json.is_object()) return Fault(kLengthBytes, "__metadata__ is not an object");
  for (const auto& item : json.items()) {
    if (!item.value().is_string()) {
      return Fault(kLengthBytes, absl::StrCat("metadata \"", item.key(), "\" is not a string"));
    }
    set.metadata.emplace(item.key(), item.value().get<std::string>());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorSet> DecodeSafetensors(std::string_view file) {
  if (file.size() < kLengthBytes) return Fault(file.size(), "file ends in the header's length");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxHeader) {
    return Fault(0, file.substr(kLengthBytes).starts_with('{')
                        ? absl::StrCat("header of ", length, " bytes is too long")
                        : std::string("not a model file: it does not begin with the length of a header"));
  }
  if (length > file.size() - kLengthBytes) {
    return Fault(file.size(), absl::StrCat("file ends in the header of ", length, " bytes"));
  }
  const std::string_view header = file.substr(kLengthBytes, length);
  const std::string_view data = file.substr(kLengthBytes + length);

  if (std::ranges::count(header, ',') > kMaxCommas) return Fault(kLengthBytes, "header has too many values");
  Json json;
  HeaderParser parser(json);
  const bool parsed = Json::sax_parse(header.begin(), header.end(), &parser);
  if (!parser.fault().empty()) return Fault(kLengthBytes, parser.fault());
  if (!parsed || !json.is_object()) return Fault(kLengthBytes, "header is not a JSON object");

  TensorSet set;
  std::vector<Entry> entries;
  for (const auto& item : json.items()) {
    if (item.key() == kMetadataKey) {
      RETURN_IF_ERROR(ReadMetadata(item.value(), set));
      continue;
    }
    Entry entry{item.key(), {}, 0, 0};
    if (const std::string fault = ReadEntry(item.value(), entry); !fault.empty()) {
      return Fault(kLengthBytes, absl::StrCat("tensor \"", entry.name, "\" ", fault));
    }
    entries.push_back(std::move(entry));
  }

  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t position = 0;
  for (Entry& entry : entries) {
    if (entry.begin != position || entry.end > data.size()) {
      const std::string_view fault = entry.begin < position   ? "overlaps another"
                                     : entry.begin > position ? "leaves a gap before it"
                                                              : "reaches beyond the end of the file";
      return Fault(kLengthBytes + length + position,
                   absl::StrCat("tensor \"", entry.name, "\" ", std::string(fault)));
    }
    const auto bytes = std::as_bytes(std::span(data.substr(entry.begin, entry.end - entry.begin)));
    entry.tensor.bytes.assign(bytes.begin(), bytes.end());
    position = entry.end;
    set.tensors.emplace(std::move(entry.name), std::move(entry.tensor));
  }
  if (position != data.size())
    return Fault(kLengthBytes + length + position, "bytes that belong to no tensor");
  return set;
}

std::string EncodeSafetensors(const TensorSet& set) {
  std::vector<const std::pair<const std::string, Tensor>*> order;
  for (const auto& item : set.tensors) order.push_back(&item);
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const auto* item) { return ElementSize(item->second.type); });

  // Appended: to look each name up in an ordered object first is slow with many tensors.
  nlohmann::ordered_json::object_t header;
  if (!set.metadata.empty()) {
    nlohmann::ordered_json::object_t metadata(set.metadata.begin(), set.metadata.end());
    header.emplace_back(kMetadataKey, std::move(metadata));
  }
  std::uint64_t position = 0;
  for (const auto* item : order) {
    const auto& [name, tensor] = *item;
    const std::uint64_t end = position + tensor.bytes.size();
    header.emplace_back(name, nlohmann::ordered_json{{"dtype", ElementTypeName(tensor.type)},
                                                     {"shape", tensor.shape},
                                                     {"data_offsets", {position, end}}});
    position = end;
  }

  std::string text = nlohmann::ordered_json(std::move(header))
                         .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), kLengthBytes);
  file.reserve(kLengthBytes + text.size() + position);
  file += text;
  for (const auto* item : order) {
    const auto& bytes = item->second.bytes;
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return file;
}

}  // namespace tributary::parameters
