#include "cli/load/load_message.h"

#include <bit>
#include <cstring>
#include <limits>
#include <random>

#include "tributary/v1/fusion.pb.h"

namespace tributary::cli {
namespace {

// The widest varint is ten bytes; parsers take padded ones.
constexpr std::size_t kVarintBytes = 10;
constexpr std::uint64_t kWidest = std::numeric_limits<std::uint64_t>::max();
// In a Frame, each after its one-byte tag: sequence, epoch, captured_unix_ns.
constexpr std::size_t kSequenceAt = 1;
constexpr std::size_t kEpochAt = kSequenceAt + kVarintBytes + 1;
constexpr std::size_t kCapturedAt = kEpochAt + kVarintBytes + 1;

constexpr float kSigmaM = 0.02f;  // of one panel ([LIS]: about 2 cm)

void PutPaddedVarint(char* at, std::uint64_t value) {
  for (std::size_t i = 0; i + 1 < kVarintBytes; ++i) {
    at[i] = static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  at[kVarintBytes - 1] = static_cast<char>(value);
}

v1::Frame TemplateFrame(std::uint32_t panel, std::size_t source, std::uint32_t users) {
  v1::Frame frame;
  frame.set_sequence(kWidest);
  frame.set_epoch(kWidest);
  frame.set_captured_unix_ns(1);
  frame.set_source(static_cast<std::uint32_t>(source));
  std::mt19937 random(panel + 1);
  std::normal_distribution<float> error(0, kSigmaM);
  for (std::uint32_t user = 0; user < users; ++user) {
    frame.add_subjects(user);
    frame.add_means(static_cast<float>(user % 8) - 3.5f + error(random));
    frame.add_means(static_cast<float>(user / 8 % 8) - 3.5f + error(random));
    for (float element : {kSigmaM, 0.1f * kSigmaM, kSigmaM}) frame.add_cholesky(element);
  }
  return frame;
}

}  // namespace

LoadMessage::LoadMessage(std::uint32_t panel, std::size_t source, std::uint32_t users, std::size_t frames) {
  v1::ReportRequest one;
  *one.add_frames() = TemplateFrame(panel, source, users);
  const std::size_t frame_bytes = one.frames(0).ByteSizeLong();
  const std::string element = one.SerializeAsString();
  for (std::size_t i = 0; i < frames; ++i) {
    bytes_ += element;
    offsets_.push_back(bytes_.size() - frame_bytes);
  }
}

void LoadMessage::Stamp(std::size_t frame, estimate::Epoch epoch, std::int64_t captured_unix_ns) {
  char* at = bytes_.data() + offsets_[frame];
  PutPaddedVarint(at + kEpochAt, epoch);
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(at + kCapturedAt, &captured_unix_ns, sizeof captured_unix_ns);
}

void LoadMessage::Number(std::uint64_t first_sequence) {
  for (const std::size_t offset : offsets_) {
    PutPaddedVarint(bytes_.data() + offset + kSequenceAt, first_sequence++);
  }
}

}  // namespace tributary::cli
