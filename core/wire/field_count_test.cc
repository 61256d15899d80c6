#include "core/wire/field_count.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <string>

#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {
namespace {

bool HasMore(const std::string& bytes, std::size_t limit, NestedFields nested = {}) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return HasMoreFields(stream, limit, {{nested}});
}

constexpr int kFrames = v1::ReportRequest::kFramesFieldNumber;

std::string Frames(int count) {
  v1::ReportRequest request;
  for (int i = 0; i < count; ++i) {
    v1::Frame& frame = *request.add_frames();
    frame.set_sequence(1);
    frame.set_epoch(2);
    frame.add_means(3);
  }
  return request.SerializeAsString();
}

TEST(FieldCountTest, CountsTheFieldsOfTheTopLevel) {
  EXPECT_FALSE(HasMore(Frames(7), 7));
  EXPECT_TRUE(HasMore(Frames(8), 7));
}

TEST(FieldCountTest, CountsTheFieldsOfAllSubmessagesTogether) {
  EXPECT_FALSE(HasMore(Frames(7), 7, {.number = kFrames, .limit = 21}));
  EXPECT_TRUE(HasMore(Frames(7), 7, {.number = kFrames, .limit = 20}));
}

// A frame of half a million fields that this program does not know took the fusing thread 30 ms.
TEST(FieldCountTest, CountsUnknownFieldsInsideOfASubmessage) {
  std::string unknown;
  for (int i = 0; i < 500; ++i) unknown += "\x78\x01";  // field 15, a varint
  v1::ReportRequest request;
  ASSERT_TRUE(request.add_frames()->ParseFromString(unknown));
  EXPECT_FALSE(HasMore(request.SerializeAsString(), 7));
  EXPECT_TRUE(HasMore(request.SerializeAsString(), 7, {.number = kFrames, .limit = 499}));
}

TEST(FieldCountTest, CountsTheFieldsInsideOfSubmessagesOfSubmessages) {
  v1::ReportRequest request;
  for (int i = 0; i < 3; ++i) {
    v1::Source& source = *request.mutable_hello()->add_sources();
    for (int leaf = 0; leaf < 10; ++leaf) source.add_leaves("leaf");
  }
  NestedFields hello{.number = v1::ReportRequest::kHelloFieldNumber,
                     .limit = 3,
                     .type = v1::Hello::descriptor(),
                     .inner_limit = 30};
  EXPECT_FALSE(HasMore(request.SerializeAsString(), 1, hello));
  hello.inner_limit = 29;
  EXPECT_TRUE(HasMore(request.SerializeAsString(), 1, hello));
  hello.inner_limit = 30;
  hello.limit = 2;
  EXPECT_TRUE(HasMore(request.SerializeAsString(), 1, hello));
}

TEST(FieldCountTest, CountsInsideOfAllKindsOfSubmessages) {
  v1::ReportRequest request;
  for (int i = 0; i < 5; ++i) request.mutable_status()->add_sensors()->set_name("x");
  for (int i = 0; i < 5; ++i) request.mutable_status()->add_checks()->set_check("x");
  NestedFields status{.number = v1::ReportRequest::kStatusFieldNumber,
                      .limit = 10,
                      .type = v1::NodeStatus::descriptor(),
                      .inner_limit = 10};
  EXPECT_FALSE(HasMore(request.SerializeAsString(), 1, status));
  status.inner_limit = 9;
  EXPECT_TRUE(HasMore(request.SerializeAsString(), 1, status));
}

// A number by which a process is known was read as fields: a sixth of them began or went on with a group, and
// a node with a large hello was refused until it was started again.
TEST(FieldCountTest, TextsAreNoSubmessages) {
  for (int byte = 0; byte < 128; ++byte) {
    const std::string text(16, static_cast<char>(byte));
    v1::ReportRequest request;
    v1::Hello& hello = *request.mutable_hello();
    hello.set_site(text);
    hello.set_node(text);
    hello.set_boot_id(text);
    hello.add_sources()->set_name(text);
    hello.mutable_model()->set_version(text);
    EXPECT_FALSE(HasMore(request.SerializeAsString(), 1,
                         {.number = v1::ReportRequest::kHelloFieldNumber,
                          .limit = 5,
                          .type = v1::Hello::descriptor(),
                          .inner_limit = 2}))
        << byte;
  }
}

// It counted as one field, whatever was inside.
TEST(FieldCountTest, AGroupIsTooMuch) {
  EXPECT_TRUE(HasMore("\x7b\x7c", 100));
  EXPECT_TRUE(HasMore("\x12\x02\x7b\x7c", 100, {.number = kFrames, .limit = 100}));
}

TEST(FieldCountTest, EndsAtBytesThatAreNoMessage) {
  for (const std::string& bytes :
       {std::string("\x12"), std::string("\x12\xff\xff\xff\xff\x0f"), std::string("\x12\x05\x08"),
        std::string("\x12\x02\x0f\x0f\x10\x01"), std::string("\x0f"), std::string(64, '\xff')}) {
    EXPECT_FALSE(HasMore(bytes, 100, {.number = kFrames, .limit = 100}));
  }
}

}  // namespace
}  // namespace tributary::wire
