#include "core/parameters/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>

namespace tributary::parameters {
namespace {

using ::testing::HasSubstr;

std::string File(std::string_view header, std::string_view data = "") {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file.append(header).append(data);
}

void ExpectRefused(const std::string& file, const std::string& why) {
  const auto set = DecodeSafetensors(file);
  ASSERT_FALSE(set.ok()) << "expected: " << why;
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr(why));
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("offset"));
}

TensorSet Example() {
  TensorSet set;
  set.tensors["w"] = FloatTensor(std::array<std::uint64_t, 2>{2, 3}, std::array<float, 6>{1, 2, 3, 4, 5, -6});
  set.tensors["scalar"] = FloatTensor({}, std::array<float, 1>{0.5f});
  set.tensors["none"] = FloatTensor(std::array<std::uint64_t, 2>{0, 7}, {});
  set.tensors["bytes"] = {ElementType::kInt8, {3}, {std::byte{1}, std::byte{2}, std::byte{0xff}}};
  set.metadata["name"] = "example \"quoted\"";
  return set;
}

TEST(SafetensorsTest, ReadsWhatItWrote) {
  const TensorSet before = Example();
  const auto after = DecodeSafetensors(EncodeSafetensors(before));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->metadata, before.metadata);
  ASSERT_EQ(after->tensors.size(), before.tensors.size());
  for (const auto& [name, tensor] : before.tensors) {
    EXPECT_EQ(after->tensors.at(name).type, tensor.type) << name;
    EXPECT_EQ(after->tensors.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(after->tensors.at(name).bytes, tensor.bytes) << name;
  }
}

TEST(SafetensorsTest, AlignsTheDataAndWideElementsFirst) {
  const std::string file = EncodeSafetensors(Example());
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(file.size(), 8 + length + 6 * 4 + 4 + 3);
  EXPECT_EQ(static_cast<unsigned char>(file.back()), 0xff);
}

TEST(SafetensorsTest, ReadsAFileWithoutTensors) {
  EXPECT_TRUE(DecodeSafetensors(File("{}")).ok());
  EXPECT_TRUE(DecodeSafetensors(EncodeSafetensors({})).ok());
}

TEST(SafetensorsTest, RefusesEveryTruncation) {
  const std::string file = EncodeSafetensors(Example());
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(DecodeSafetensors(std::string_view(file).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeSafetensors(file + "x").ok());
}

TEST(SafetensorsTest, RefusesAHeaderThatIsLongerThanTheFileOrTheLimit) {
  ExpectRefused(std::string("\x10\0\0\0\0\0\0\0{}", 10), "file ends in the header");
  ExpectRefused(std::string(8, '\xff') + "{}", "too long");
  ExpectRefused("listen = \"127.0.0.1:7400\"\n", "not a model file");
}

TEST(SafetensorsTest, RefusesAHeaderThatIsNotAnObject) {
  ExpectRefused(File(""), "not a JSON object");
  ExpectRefused(File("[]"), "not a JSON object");
  ExpectRefused(File("{\"a\":"), "not a JSON object");
  ExpectRefused(File("{\"\xff\":{}}"), "not a JSON object");
}

TEST(SafetensorsTest, RefusesDeepNestingBeforeItIsParsed) {
  ExpectRefused(File("{\"a\":" + std::string(1'000'000, '[')), "nested too deeply");
}

TEST(SafetensorsTest, RefusesABroadHeaderBeforeItIsParsed) {
  std::string zeros = "{\"a\":{\"shape\":[0";
  while (zeros.size() < 15'000'000) zeros += ",0";
  ExpectRefused(File(zeros), "too many values");
}

std::string EmptyTensors(std::size_t count) {
  std::string header = "{";
  for (std::size_t i = 0; i < count; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
              "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";
  }
  return File(header + "}");
}

TEST(SafetensorsTest, RefusesMoreTensorsThanTheLimit) {
  EXPECT_EQ(DecodeSafetensors(EmptyTensors(kMaxNames))->tensors.size(), kMaxNames);
  ExpectRefused(EmptyTensors(kMaxNames + 1), "more than 100000 names");
}

// Ten times the tensors take about ten times as long; where each looked at all the others, a hundred times.
TEST(SafetensorsTest, ReadsAndWritesManyEmptyTensorsInLinearTime) {
  const auto cpu_time = [](std::size_t count) {
    const std::string file = EmptyTensors(count);
    std::clock_t shortest = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 2; ++i) {
      const std::clock_t start = std::clock();
      const auto set = DecodeSafetensors(file);
      EXPECT_EQ(set->tensors.size(), count);
      EXPECT_EQ(DecodeSafetensors(EncodeSafetensors(*set))->tensors.size(), count);
      shortest = std::min(shortest, std::clock() - start);
    }
    return static_cast<double>(shortest);
  };
  EXPECT_LT(cpu_time(50'000), 40 * cpu_time(5'000));
}

TEST(SafetensorsTest, RefusesDuplicateNames) {
  ExpectRefused(
      File(
          R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}})",
          "xy"),
      "duplicate name \"a\"");
  ExpectRefused(File(R"({"a":{"dtype":"I8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x"),
                "duplicate name");
}

TEST(SafetensorsTest, RefusesOverlapsGapsAndTrailingBytes) {
  const auto two = [](std::string_view first, std::string_view second) {
    return "{\"a\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":" + std::string(first) +
           "},\"b\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":" + std::string(second) + "}}";
  };
  EXPECT_TRUE(DecodeSafetensors(File(two("[2,4]", "[0,2]"), "wxyz")).ok());
  ExpectRefused(File(two("[0,2]", "[1,3]"), "wxyz"), "overlaps another");
  ExpectRefused(File(two("[0,2]", "[3,5]"), "vwxyz"), "leaves a gap");
  ExpectRefused(File(two("[0,2]", "[2,4]"), "xyz"), "beyond the end");
  ExpectRefused(File(two("[0,2]", "[2,4]"), "vwxyz"), "belong to no tensor");
}

TEST(SafetensorsTest, RefusesShapesThatDoNotFitOrOverflow) {
  const auto with = [](std::string_view shape, std::string_view offsets) {
    return File("{\"a\":{\"dtype\":\"F32\",\"shape\":" + std::string(shape) +
                    ",\"data_offsets\":" + std::string(offsets) + "}}",
                "wxyz");
  };
  EXPECT_TRUE(DecodeSafetensors(with("[1]", "[0,4]")).ok());
  ExpectRefused(with("[2]", "[0,4]"), "does not fit");
  ExpectRefused(with("[4294967296,4294967296]", "[0,4]"), "does not fit");
  ExpectRefused(with("[9223372036854775807,3]", "[0,4]"), "does not fit");
  ExpectRefused(with("[-1]", "[0,4]"), "whole numbers");
  ExpectRefused(with("[1.0]", "[0,4]"), "whole numbers");
  ExpectRefused(with("1", "[0,4]"), "not a list");
  ExpectRefused(with("[1]", "[4,0]"), "[begin, end]");
  ExpectRefused(with("[1]", "[0,4,8]"), "[begin, end]");
  ExpectRefused(with("[1]", "[0,3]"), "does not fit");
  ExpectRefused(with("[4611686018427387904]", "[0,18446744073709551615]"), "does not fit");
}

TEST(SafetensorsTest, RefusesUnknownTypesAndKeys) {
  ExpectRefused(File(R"({"a":{"dtype":"F7","shape":[],"data_offsets":[0,0]}})"), "unsupported dtype");
  ExpectRefused(File(R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,0]}})"), "unsupported dtype");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[],"offsets":[0,4]}})", "wxyz"), "unknown key");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[]}})"), "needs");
  ExpectRefused(File(R"({"a":7})"), "not an object");
  ExpectRefused(File(R"({"__metadata__":{"a":1}})"), "not a string");
  ExpectRefused(File(R"({"__metadata__":[]})"), "not an object");
}

}  // namespace
}  // namespace tributary::parameters
