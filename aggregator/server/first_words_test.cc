#include "aggregator/server/first_words.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tributary::server {
namespace {

using std::string_view_literals::operator""sv;

TEST(FirstWordsTest, AreTheRecordOfAClientHello) {
  const std::string record = std::string("\x16\x03\x01\x02\x00"sv) + std::string(512, 'x');
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(BytesOfFirstWords(std::string_view(record).substr(0, i)), i + 1) << "too few to tell";
  }
  for (const std::size_t i : {5, 11, 516, 517}) {
    EXPECT_EQ(BytesOfFirstWords(std::string_view(record).substr(0, i)), 517u) << i;
  }
}

TEST(FirstWordsTest, AreThePrefaceOfHttp2AndAFramesHeader) {
  for (std::size_t i = 1; i <= kHttp2Preface.size(); ++i) {
    EXPECT_EQ(BytesOfFirstWords(kHttp2Preface.substr(0, i)), 33u) << i;
  }
  EXPECT_EQ(BytesOfFirstWords(std::string(kHttp2Preface) + "frame"), 33u);
}

TEST(FirstWordsTest, OtherWordsAreForGrpcToRefuse) {
  for (const std::string_view words :
       {"GET / HTTP/1.1\r\n"sv, "PRI * HTTP/1.1"sv, "P\0"sv, "\0"sv, "SSH-2.0"sv, "\x15\x03\x01\x00\x02"sv,
        "\x16\x03\x01\x40\x01"sv, "\x16\xff\xff\xff\xff"sv}) {
    EXPECT_EQ(BytesOfFirstWords(words), 0u) << words;
  }
}

}  // namespace
}  // namespace tributary::server
