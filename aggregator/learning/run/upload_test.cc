#include "aggregator/learning/run/upload.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "aggregator/learning/run/update_file.h"
#include "core/parameters/crc32c.h"

namespace tributary::learning {
namespace {

constexpr std::size_t kUploadElements = 2 * parameters::kEncodingBlock + 100;

class UploadTest : public ::testing::TestWithParam<parameters::UpdateEncoding> {
 protected:
  UploadTest() {
    char name[] = "/tmp/upload_test.XXXXXX";
    folder_ = mkdtemp(name);
    for (std::size_t i = 0; i < kUploadElements; ++i) values_.push_back(std::sin(static_cast<float>(i)));
  }
  ~UploadTest() override { std::filesystem::remove_all(folder_); }

  Upload Begin() {
    v1::UpdateHeader header;
    header.set_encoding(static_cast<v1::UpdateEncoding>(GetParam()));
    header.set_element_count(kUploadElements);
    return Upload(header, {8.0f, true}, [this] { return store::DurableFile::Create(folder_, "update", {}); });
  }

  // One chunk per block.
  void Send(Upload& upload) {
    for (std::size_t at = 0; at < kUploadElements; at += parameters::kEncodingBlock) {
      const std::size_t count = std::min(parameters::kEncodingBlock, kUploadElements - at);
      std::vector<float> block(values_.begin() + static_cast<std::ptrdiff_t>(at),
                               values_.begin() + static_cast<std::ptrdiff_t>(at + count));
      v1::UpdateChunk chunk;
      ASSERT_TRUE(parameters::EncodeChunk(GetParam(), block, *chunk.mutable_payload()).ok());
      chunk.set_offset(at);
      chunk.set_count(static_cast<std::uint32_t>(count));
      chunk.set_crc32c(parameters::Crc32c(chunk.payload()));
      const auto refusal = upload.Take(chunk);
      ASSERT_FALSE(refusal.has_value()) << refusal->message;
    }
    EXPECT_FALSE(upload.Finish().has_value());
  }

  std::string folder_;
  std::vector<float> values_;
};

INSTANTIATE_TEST_SUITE_P(
    Encodings, UploadTest,
    ::testing::Values(parameters::UpdateEncoding::kFloat32, parameters::UpdateEncoding::kFloat16,
                      parameters::UpdateEncoding::kInt8, parameters::UpdateEncoding::kInt12),
    [](const auto& parameter) { return std::string(parameters::UpdateEncodingName(parameter.param)); });

TEST_P(UploadTest, KeepsWhatArrivedUntilItIsReadAgain) {
  Upload upload = Begin();
  ASSERT_NO_FATAL_FAILURE(Send(upload));
  store::DurableFile file = *upload.TakeFile();
  ASSERT_TRUE(file.Commit().ok());
  auto reader = store::CheckedReader::Open(folder_, file.facts());
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::size_t next = 0;
  double sum_of_squares = 0;
  const absl::Status status =
      ReadUpdate(*reader, GetParam(), kUploadElements,
                 [&](std::uint64_t offset, std::span<const float> values, std::span<const std::int64_t>) {
                   EXPECT_EQ(offset, next);
                   for (const float value : values) {
                     // A step of int8 is 1/127 of the block's largest, which is about 1 here.
                     EXPECT_NEAR(value, values_[next++], 0.5 / 127 + 1e-6);
                     sum_of_squares += static_cast<double>(value) * static_cast<double>(value);
                   }
                   return absl::OkStatus();
                 });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(next, kUploadElements);
  EXPECT_NEAR(upload.norm(), std::sqrt(sum_of_squares), 1e-5);
}

TEST_P(UploadTest, NoticesAFileThatWasDamagedMeanwhile) {
  Upload upload = Begin();
  ASSERT_NO_FATAL_FAILURE(Send(upload));
  store::DurableFile file = *upload.TakeFile();
  ASSERT_TRUE(file.Commit().ok());
  {
    std::fstream stored(folder_ + "/update", std::ios::in | std::ios::out | std::ios::binary);
    stored.seekp(100);
    stored.put('x');
  }
  auto reader = store::CheckedReader::Open(folder_, file.facts());
  ASSERT_TRUE(reader.ok()) << reader.status();
  const absl::Status status =
      ReadUpdate(*reader, GetParam(), kUploadElements, [](auto, auto, auto) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST_P(UploadTest, LeavesNoFileWhenItIsGivenUp) {
  {
    Upload upload = Begin();
    ASSERT_NO_FATAL_FAILURE(Send(upload));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  {
    Upload upload = Begin();
    v1::UpdateChunk chunk;
    chunk.set_offset(parameters::kEncodingBlock);
    chunk.set_count(1);
    chunk.set_payload("x");
    const auto refusal = upload.Take(chunk);
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(refusal->reason, v1::SUBMIT_REFUSAL_OUT_OF_ORDER);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace tributary::learning
