#include "core/wire/hello_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/wire/hello.h"

namespace tributary::wire {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Names(int count, std::size_t bytes) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(std::to_string(i));
    names.back().resize(bytes, 'x');
  }
  return names;
}

TEST(HelloSizeTest, TakesTheLargestSite) {
  v1::Hello hello;
  for (const std::string& name : Names(256, 60)) AddSource(hello, name, 2, {name});
  EXPECT_TRUE(CheckHelloSize(hello).ok());
  v1::Hello classes;
  AddClassifier(classes, "a", Names(256, 100), Names(256, 100), {});
  EXPECT_TRUE(CheckHelloSize(classes).ok());
}

TEST(HelloSizeTest, SaysWhatToDoAboutOneThatIsTooLarge) {
  v1::Hello many;
  for (const std::string& name : Names(16, 5)) AddClassifier(many, name, {name}, Names(256, 5), {});
  EXPECT_THAT(
      std::string(CheckHelloSize(many).message()),
      AllOf(HasSubstr("more than 300 fields, or than 4096 in its sources"), HasSubstr("several nodes")));
  v1::Hello long_names;
  for (const std::string& name : Names(256, 128)) AddSource(long_names, name, 2, {name});
  EXPECT_THAT(std::string(CheckHelloSize(long_names).message()),
              AllOf(HasSubstr("bytes, allowed are 65536"), HasSubstr("several nodes")));
}

}  // namespace
}  // namespace tributary::wire
