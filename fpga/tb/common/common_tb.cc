#include <algorithm>
#include <array>
#include <bit>

#include "Vcommon_blocks.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/common/stream.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::array<std::array<unsigned, 2>, 4> kPaces = {{{100, 100}, {50, 100}, {100, 50}, {60, 60}}};

class CommonBench : public ::testing::Test {
 protected:
  CommonBench() { bench_.Reset(); }

  // Sends words through one block and returns its output; `connect` writes the block's inputs, `ready`,
  // `valid` and `data` read its outputs.
  template <class Connect, class Ready, class Valid, class Data>
  std::vector<std::uint64_t> Pass(StreamSource& source, StreamSink& sink, std::size_t words, Connect connect,
                                  Ready ready, Valid valid, Data data) {
    std::uint64_t& full = coverage_.Point("input refused", 1000);
    while (sink.words().size() < words && bench_.Running()) {
      source.Drive();
      sink.Drive();
      connect(source.valid(), source.word(), sink.ready());
      bench_.Settle();
      full += source.valid() && !ready();
      source.Sample(ready());
      sink.Sample(valid(), data());
      bench_.Edge();
    }
    return sink.Take();
  }

  // Random words at every pace. At full rate they take a cycle each, and `latency` more.
  template <class... Ports>
  void PassesEveryWord(std::uint64_t latency, const Ports&... ports) {
    std::mt19937 random(1);
    for (const auto& [offer, accept] : kPaces) {
      StreamSource source(2, offer);
      StreamSink sink(3, accept);
      std::vector<std::uint64_t> words(5000);
      for (auto& word : words) source.Push(word = random() & 0xffff);
      const std::uint64_t begin = bench_.cycle();
      EXPECT_EQ(Pass(source, sink, words.size(), ports...), words);
      if (offer == 100 && accept == 100) {
        EXPECT_EQ(bench_.cycle() - begin, words.size() + latency);
      }
    }
  }

  Clock<Vcommon_blocks> bench_{10'000'000};
  Coverage coverage_;
};

TEST_F(CommonBench, SkidBufferPassesEveryWordAtFullRate) {
  auto& top = bench_.model();
  PassesEveryWord(
      1,
      [&](bool valid, std::uint64_t word, bool ready) {
        top.skid_in_valid_i = valid;
        top.skid_in_data_i = static_cast<std::uint16_t>(word);
        top.skid_out_ready_i = ready;
      },
      [&] { return top.skid_in_ready_o; }, [&] { return top.skid_out_valid_o; },
      [&] { return top.skid_out_data_o; });
}

TEST_F(CommonBench, FifoPassesEveryWordAtFullRateAndCountsItsLevel) {
  std::uint64_t& deepest = coverage_.Point("deepest level", 17);
  auto& top = bench_.model();
  PassesEveryWord(
      2,
      [&](bool valid, std::uint64_t word, bool ready) {
        top.fifo_in_valid_i = valid;
        top.fifo_in_data_i = static_cast<std::uint16_t>(word);
        top.fifo_out_ready_i = ready;
      },
      [&] {
        deepest = std::max<std::uint64_t>(deepest, top.fifo_level_o);
        return top.fifo_in_ready_o;
      },
      [&] { return top.fifo_out_valid_o; }, [&] { return top.fifo_out_data_o; });
  EXPECT_EQ(top.fifo_level_o, 0);
}

TEST_F(CommonBench, PackFillsWordsAndClosesFramesEarly) {
  std::uint64_t& closed = coverage_.Point("words closed early", 500);
  std::mt19937 random(5);
  auto& top = bench_.model();
  for (const auto& [offer, accept] : kPaces) {
    StreamSource source(6, offer);
    StreamSink sink(7, accept);
    std::vector<std::uint64_t> expected;
    std::uint64_t word = 0;
    unsigned lane = 0;
    for (int i = 0; i < 6000; ++i) {
      const std::uint64_t element = random() & 0xffff;
      const bool last = random() % 8 == 0 || i == 5999;
      source.Push(element | (last ? 0x10000U : 0U));
      word |= element << (16 * lane++);
      if (last || lane == 4) {
        closed += lane != 4;
        expected.push_back(word);
        word = lane = 0;
      }
    }
    const auto out = Pass(
        source, sink, expected.size(),
        [&](bool valid, std::uint64_t in, bool ready) {
          top.pack_in_valid_i = valid;
          top.pack_in_data_i = static_cast<std::uint16_t>(in);
          top.pack_in_last_i = (in >> 16) & 1;
          top.pack_out_ready_i = ready;
        },
        [&] { return top.pack_in_ready_o; }, [&] { return top.pack_out_valid_o; },
        [&] { return top.pack_out_data_o; });
    EXPECT_EQ(out, expected);
  }
}

TEST_F(CommonBench, UnpackGivesElementsWithoutAGap) {
  std::mt19937_64 random(8);
  auto& top = bench_.model();
  for (const auto& [offer, accept] : kPaces) {
    StreamSource source(9, offer);
    StreamSink sink(10, accept);
    std::vector<std::uint64_t> expected;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t word = random();
      source.Push(word);
      for (unsigned lane = 0; lane < 4; ++lane) expected.push_back((word >> (16 * lane)) & 0xffff);
    }
    const std::uint64_t begin = bench_.cycle();
    const auto out = Pass(
        source, sink, expected.size(),
        [&](bool valid, std::uint64_t in, bool ready) {
          top.unpack_in_valid_i = valid;
          top.unpack_in_data_i = in;
          top.unpack_out_ready_i = ready;
        },
        [&] { return top.unpack_in_ready_o; }, [&] { return top.unpack_out_valid_o; },
        [&] { return top.unpack_out_data_o; });
    EXPECT_EQ(out, expected);
    if (offer == 100 && accept == 100) {
      EXPECT_EQ(bench_.cycle() - begin, expected.size() + 1);
    }
  }
}

TEST_F(CommonBench, ArbiterServesSourcesInTurn) {
  constexpr std::size_t kSources = 3;
  constexpr std::size_t kWords = 3000;
  std::uint64_t& crowded = coverage_.Point("all sources asking", 1000);
  std::uint64_t& alone = coverage_.Point("one source asking", 500);
  auto& top = bench_.model();
  for (const auto& [offer, accept] : kPaces) {
    std::vector<StreamSource> sources;
    for (std::size_t s = 0; s < kSources; ++s) {
      sources.emplace_back(20 + s, offer / (s + 1));
      for (std::size_t i = 0; i < kWords; ++i) sources[s].Push(i * 4 + s);
    }
    StreamSink sink(30, accept);
    std::array<std::size_t, kSources> received{};
    std::array<int, kSources> others{};  // served while it asks
    std::size_t total = 0;
    while (total < kSources * kWords && bench_.Running()) {
      unsigned asking = 0;
      std::uint64_t data = 0;
      for (std::size_t s = 0; s < kSources; ++s) {
        sources[s].Drive();
        asking |= static_cast<unsigned>(sources[s].valid()) << s;
        data |= (sources[s].word() & 0xffff) << (16 * s);
      }
      sink.Drive();
      top.arbiter_in_valid_i = static_cast<std::uint8_t>(asking);
      top.arbiter_in_data_i = data;
      top.arbiter_out_ready_i = sink.ready();
      bench_.Settle();
      crowded += asking == 7;
      alone += std::has_single_bit(asking);
      ASSERT_EQ(top.arbiter_out_valid_o != 0, asking != 0);
      const bool taken = sink.Sample(top.arbiter_out_valid_o, top.arbiter_out_data_o);
      for (std::size_t s = 0; s < kSources; ++s) {
        const bool served = taken && top.arbiter_out_source_o == s;
        ASSERT_EQ((top.arbiter_in_ready_o >> s) & 1, served ? 1 : 0);
        if (served) {
          ASSERT_EQ(top.arbiter_out_data_o, (received[s] * 4 + s) & 0xffff);
          ++received[s];
          ++total;
        }
        others[s] = served || ((asking >> s) & 1) == 0 ? 0 : others[s] + (taken ? 1 : 0);
        ASSERT_LT(others[s], static_cast<int>(kSources));
        sources[s].Sample(served);
      }
      bench_.Edge();
    }
    for (const std::size_t count : received) EXPECT_EQ(count, kWords);
  }
}

TEST_F(CommonBench, ArbiterChoosesTheNextSourceThatAsks) {
  std::uint64_t& chosen = coverage_.Point("words chosen", 5000);
  std::mt19937 random(31);
  auto& top = bench_.model();
  unsigned last = 2;  // after a reset the first source comes first
  unsigned asking = 0;
  bool held = false;
  for (int i = 0; i < 20'000; ++i) {
    if (i % 1000 == 999) {
      top.arbiter_in_valid_i = 0;
      bench_.Reset();
      last = 2;
      asking = 0;
      held = false;
    }
    // Who asks goes on asking until it is served.
    asking |= random() % 3 == 0 ? random() % 8 : 0;
    top.arbiter_in_valid_i = static_cast<std::uint8_t>(asking);
    top.arbiter_out_ready_i = random() % 2;
    bench_.Settle();
    ASSERT_EQ(top.arbiter_out_valid_o != 0, asking != 0);
    if (asking != 0) {
      if (!held) {
        for (unsigned next = 1; next <= 3; ++next) {
          if ((asking >> ((last + next) % 3) & 1) == 0) continue;
          last = (last + next) % 3;
          break;
        }
      }
      ASSERT_EQ(top.arbiter_out_source_o, last);
      held = top.arbiter_out_ready_i == 0;
      if (!held) asking &= ~(1U << last);
      ++chosen;
    }
    bench_.Edge();
  }
}

TEST_F(CommonBench, DelaysABitAndForgetsItInReset) {
  std::uint64_t& high = coverage_.Point("bits given", 1000);
  std::mt19937 random(33);
  auto& top = bench_.model();
  std::array<unsigned, 3> bits{};
  for (int i = 0; i < 4000; ++i) {
    if (i % 100 == 99) {
      top.delay_bit_i = 1;
      bench_.Reset(1);
      bits = {};
    }
    top.delay_bit_i = random() % 2;
    bench_.Settle();
    ASSERT_EQ(top.delay_bit_o, bits[2]) << "cycle " << i;
    high += top.delay_bit_o;
    bits = {top.delay_bit_i, bits[0], bits[1]};
    bench_.Edge();
  }
}

TEST_F(CommonBench, DelaysWordsByEnabledCycles) {
  std::uint64_t& stalls = coverage_.Point("cycles held", 1000);
  std::mt19937 random(34);
  auto& top = bench_.model();
  std::array<unsigned, 3> words{};
  for (int i = 0, enabled = 0; i < 4000; ++i) {
    top.line_en_i = random() % 2;
    top.line_data_i = static_cast<std::uint8_t>(random());
    bench_.Settle();
    if (enabled >= 3) {
      ASSERT_EQ(top.line_data_o, words[2]) << "cycle " << i;
    }
    if (top.line_en_i != 0) {
      words = {top.line_data_i, words[0], words[1]};
      ++enabled;
    } else {
      ++stalls;
    }
    bench_.Edge();
  }
}

// Ready may wait for valid, valid must not wait for ready.
TEST_F(CommonBench, EveryBlockOffersAWordBeforeItIsAskedForOne) {
  std::uint64_t& offered = coverage_.Point("words offered unasked", 5);
  auto& top = bench_.model();
  top.skid_in_valid_i = top.fifo_in_valid_i = top.pack_in_valid_i = top.unpack_in_valid_i = 1;
  top.arbiter_in_valid_i = 2;
  top.skid_out_ready_i = top.fifo_out_ready_i = top.pack_out_ready_i = 0;
  top.unpack_out_ready_i = top.arbiter_out_ready_i = 0;
  for (int i = 0; i < 8; ++i) {
    bench_.Settle();
    bench_.Edge();
  }
  offered = top.skid_out_valid_o + top.fifo_out_valid_o + top.pack_out_valid_o + top.unpack_out_valid_o +
            top.arbiter_out_valid_o;
}

TEST_F(CommonBench, MacsAddProductsAsTheModelDoes) {
  std::uint64_t& stalls = coverage_.Point("cycles held", 1000);
  std::uint64_t& sums = coverage_.Point("sums begun", 1000);
  std::mt19937_64 random(40);
  auto& top = bench_.model();
  const auto wrap = [](std::int64_t value) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 16) >> 16;
  };
  std::int64_t a_q = 0, b_q = 0, m_q = 0, sum = 0, link = 0, chain = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool extreme = random() % 4 == 0;
    const std::int64_t a = extreme ? -(1 << 24) : static_cast<std::int64_t>(random() % (1 << 25)) - (1 << 24);
    const std::int64_t b = extreme ? -(1 << 17) : static_cast<std::int64_t>(random() % (1 << 18)) - (1 << 17);
    const std::int64_t c = wrap(static_cast<std::int64_t>(random()));
    const bool en = random() % 4 != 0;
    const bool first = random() % 8 == 0 || i < 10;
    top.mac_a_i = static_cast<std::uint32_t>(a) & 0x1ffffff;
    top.mac_b_i = static_cast<std::uint32_t>(b) & 0x3ffff;
    top.mac_c_i = static_cast<std::uint64_t>(c) & 0xffff'ffff'ffff;
    top.mac_en_i = en;
    top.mac_first_i = first;
    bench_.Settle();
    if (i > 10) {
      ASSERT_EQ(top.mac_sum_e1_o, static_cast<std::uint64_t>(sum) & 0xffff'ffff'ffff);
      ASSERT_EQ(top.mac_sum_e2_o, top.mac_sum_e1_o);
      ASSERT_EQ(top.mac_chain_o, static_cast<std::uint64_t>(chain) & 0xffff'ffff'ffff);
    }
    bench_.Edge();
    stalls += !en;
    sums += en && first;
    if (!en) continue;
    chain = wrap(link + m_q);
    link = wrap(c + m_q);
    sum = wrap((first ? c : sum) + m_q);
    m_q = a_q * b_q;
    a_q = a;
    b_q = b;
  }
}

}  // namespace
}  // namespace tributary::fpga
