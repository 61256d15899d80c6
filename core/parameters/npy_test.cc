#include "core/parameters/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>

namespace tributary::parameters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::string Version1(const std::string& header, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

std::string Version2(const std::string& header, const std::string& data) {
  const std::uint32_t length = static_cast<std::uint32_t>(header.size());
  std::string file("\x93NUMPY\x02\x00\0\0\0\0", 12);
  std::memcpy(file.data() + 8, &length, 4);
  return file + header + data;
}

void ExpectNpyRefused(const std::string& file, const std::string& why,
                      absl::StatusCode code = absl::StatusCode::kDataLoss) {
  const auto array = DecodeNpy(file);
  ASSERT_FALSE(array.ok()) << "expected: " << why;
  EXPECT_EQ(array.status().code(), code);
  EXPECT_THAT(std::string(array.status().message()), HasSubstr(why));
}

TEST(NpyTest, ReadsWhatItWrote) {
  const std::array<std::uint64_t, 2> shape = {2, 3};
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  const std::string file = EncodeNpy(shape, values);
  EXPECT_EQ((file.size() - 24) % 64, 0u);
  const auto array = DecodeNpy(file);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, ElementsAre(2, 3));
  EXPECT_THAT(array->values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyTest, ReadsWhatNumPyWrites) {
  const auto array = DecodeNpy(Version1(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }          \n", Bytes<float>({1, 2, 3})));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->values, ElementsAre(1, 2, 3));
}

TEST(NpyTest, ReadsVersion2AScalarAndAnEmptyArray) {
  const auto scalar =
      DecodeNpy(Version2("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", Bytes<float>({4})));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_THAT(scalar->values, ElementsAre(4));
  const auto empty = DecodeNpy(Version2("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1024)}", ""));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_TRUE(empty->values.empty());
}

TEST(NpyTest, ConvertsDoubles) {
  const auto array = DecodeNpy(
      Version1("{\"shape\": (2,), \"fortran_order\": True, \"descr\": \"<f8\"}", Bytes<double>({0.5, -2})));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->values, ElementsAre(0.5f, -2.0f));
}

TEST(NpyTest, RefusesEveryTruncation) {
  const std::array<std::uint64_t, 1> shape = {2};
  const std::string file = EncodeNpy(shape, std::array<float, 2>{1, 2});
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(DecodeNpy(std::string_view(file).substr(0, size)).ok()) << size;
  }
  ExpectNpyRefused(file + "x", "do not fit the shape");
}

TEST(NpyTest, RefusesArraysOfAnotherKind) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  ExpectNpyRefused(Version1("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "wxyz"), "\">f4\"",
                   kInvalid);
  ExpectNpyRefused(Version1("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "wxyz"), "\"|O\"",
                   kInvalid);
  ExpectNpyRefused(Version1("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}", "wxyz"), "Fortran",
                   kInvalid);
}

TEST(NpyTest, RefusesDamagedHeaders) {
  ExpectNpyRefused("NUMPY", "not an npy file");
  ExpectNpyRefused(std::string("\x93NUMPY\x03\x00\0\0\0\0", 12), "version 3");
  ExpectNpyRefused(Version1("", ""), "not a dictionary");
  ExpectNpyRefused(Version1("{'descr': '<f4'}", ""), "needs descr");
  ExpectNpyRefused(Version1("{'descr': '<f4', 'descr': '<f4'}", ""), "twice");
  ExpectNpyRefused(Version1("{'descr': '<f4', 'evil': 1}", ""), "unknown key");
  ExpectNpyRefused(Version1("{'descr': '<f4", ""), "cannot read \"descr\"");
  ExpectNpyRefused(Version1("{'descr': [('a', '<f4')]}", ""), "cannot read \"descr\"");
  ExpectNpyRefused(Version1("{'fortran_order': 1}", ""), "cannot read \"fortran_order\"");
  ExpectNpyRefused(Version1("{'descr': '<f4' 'shape': ()}", ""), "comma");
  ExpectNpyRefused(Version1("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "wxyz"),
                   "after the header");
  for (const char* shape : {"(-1,)", "(1.5,)", "(1 2)", "[1]", "(99999999999999999999,)", "(,)", "(1"}) {
    ExpectNpyRefused(Version1("{'shape': " + std::string(shape) + "}", ""), "cannot read \"shape\"");
  }
  std::string many = "(";
  for (int i = 0; i < 1000; ++i) many += "1,";
  ExpectNpyRefused(Version1("{'shape': " + many + ")}", ""), "cannot read \"shape\"");
}

TEST(NpyTest, RefusesShapesThatOverflow) {
  ExpectNpyRefused(
      Version1("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", ""),
      "do not fit the shape");
  ExpectNpyRefused(
      Version1("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,)}", "wxyz"),
      "do not fit the shape");
}

}  // namespace
}  // namespace tributary::parameters
