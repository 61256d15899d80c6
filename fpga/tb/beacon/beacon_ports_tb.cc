// The beacon network behind the ports of [BEACON], with hosts that take their time at every port.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "fpga/device/beacon_host.h"
#include "fpga/model/beacon_image.h"
#include "fpga/tb/beacon/random_beacon.h"
#include "fpga/tb/common/coverage.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

using device::AxiReadHost;
using device::AxiWriteHost;
using Samples = std::vector<BeaconModel::Inputs>;

constexpr std::array<std::size_t, 2> kLayerWeights = {nn::BeaconNetwork::kLayer1, nn::BeaconNetwork::kLayer2};

class BeaconPortsTest : public testing::Test {
 protected:
  void Finish() { ASSERT_TRUE(host_.Finish()) << "a port does not answer"; }

  // All words from word `first` on, in bursts of up to 16.
  void Push(AxiWriteHost& port, std::size_t first, std::vector<std::uint32_t> words, bool whole = false) {
    for (std::size_t i = 0; i < words.size();) {
      const std::size_t left = std::min<std::size_t>(16, words.size() - i);
      const std::size_t count = whole ? left : 1 + random_() % left;
      port.Push({.address = static_cast<std::uint16_t>(4 * (first + i)),
                 .words = {words.begin() + static_cast<std::ptrdiff_t>(i),
                           words.begin() + static_cast<std::ptrdiff_t>(i + count)}});
      i += count;
    }
  }

  void Push(AxiReadHost& port, std::size_t words, bool whole = false) {
    for (std::size_t i = 0; i < words;) {
      const std::size_t left = std::min<std::size_t>(16, words - i);
      const std::size_t count = whole ? left : 1 + random_() % left;
      port.Push({.address = static_cast<std::uint16_t>(4 * i), .words = count});
      i += count;
    }
  }

  void PushWeights(const BeaconModel& model, bool whole = false) {
    std::size_t next = 0;
    for (std::size_t layer = 0; layer < 2; ++layer) {
      std::vector<std::uint32_t> words(kLayerWeights[layer]);
      // The upper half of a word is not used.
      for (std::uint32_t& word : words) {
        word = static_cast<std::uint16_t>(model.weights()[next++]) | random_() << 16;
      }
      Push(host_.weights_write[layer], 0, std::move(words), whole);
    }
  }

  void PushSamples(const Samples& samples, bool whole = false) {
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<std::uint32_t> words;
      for (const BeaconModel::Inputs& inputs : samples)
        words.push_back(static_cast<std::uint32_t>(inputs[k]));
      Push(host_.inputs[k], 0, std::move(words), whole);
    }
  }

  Samples RandomSamples(std::size_t count) {
    Samples samples(count);
    for (BeaconModel::Inputs& inputs : samples) inputs = RandomBeaconInputs(random_);
    return samples;
  }

  // Answers OKAY everywhere, and forgets them.
  void ExpectAllOkay() {
    std::vector<std::uint8_t> answers = host_.control_write.TakeAnswers();
    const auto add = [&](const std::vector<std::uint8_t>& more) {
      answers.insert(answers.end(), more.begin(), more.end());
    };
    for (AxiWriteHost& port : host_.inputs) add(port.TakeAnswers());
    for (AxiWriteHost& port : host_.weights_write) add(port.TakeAnswers());
    EXPECT_THAT(answers, testing::Each(device::kAxiOkay));
  }

  void WriteRegister(std::uint32_t offset, std::uint32_t value) {
    host_.control_write.Push({.address = static_cast<std::uint16_t>(offset), .words = {value}});
    Finish();
  }

  std::uint32_t ReadRegister(std::uint32_t offset) {
    host_.control_read.Push({.address = static_cast<std::uint16_t>(offset)});
    EXPECT_TRUE(host_.Finish());
    const std::vector<AxiReadHost::Word> words = host_.control_read.TakeWords();
    EXPECT_EQ(words.size(), 1u);
    EXPECT_EQ(words.at(0).answer, device::kAxiOkay);
    return words.at(0).value;
  }

  std::uint32_t Status() { return ReadRegister(BeaconRegister::kStatus); }
  void Start(std::size_t samples) {
    WriteRegister(BeaconRegister::kControl,
                  BeaconBit::kStart | (random_() & 0x7fff'fff0u) | static_cast<std::uint32_t>(samples));
  }
  void WaitUntilDone() {
    for (int i = 0; i < 1'000; ++i) {
      if ((Status() & BeaconBit::kDone) != 0) return;
    }
    FAIL() << "the run does not end";
  }

  // Reads the outputs and compares them.
  void ExpectPositions(const BeaconModel& model, const Samples& samples) {
    for (AxiReadHost& port : host_.outputs) Push(port, samples.size());
    Finish();
    for (std::size_t o = 0; o < 2; ++o) {
      const std::vector<AxiReadHost::Word> words = host_.outputs[o].TakeWords();
      ASSERT_EQ(words.size(), samples.size());
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto expected = static_cast<std::uint32_t>(model.Run(samples[i])[o]) & 0x7ffu;
        ASSERT_EQ(words[i], (AxiReadHost::Word{expected, device::kAxiOkay})) << "output " << o << " of " << i;
      }
    }
  }

  void ExpectWeights(const BeaconModel& model) {
    for (std::size_t layer = 0; layer < 2; ++layer) Push(host_.weights_read[layer], kLayerWeights[layer]);
    Finish();
    std::size_t next = 0;
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (const AxiReadHost::Word& word : host_.weights_read[layer].TakeWords()) {
        ASSERT_EQ(word.value, static_cast<std::uint32_t>(model.weights()[next])) << "weight " << next;
        ASSERT_EQ(word.answer, device::kAxiOkay);
        ++next;
      }
    }
    EXPECT_EQ(next, model.weights().size());
  }

  // Everything for a run, at full speed.
  BeaconModel Prepare(const Samples& samples) {
    const BeaconModel model = RandomBeacon(random_, BeaconRange::kTrained);
    PushWeights(model, true);
    PushSamples(samples, true);
    Finish();
    ExpectAllOkay();
    return model;
  }

  std::mt19937 random_{31};
  device::BeaconHost host_;
};

TEST_F(BeaconPortsTest, MatchesTheGoldenModelWithHostsThatTakeTheirTime) {
  Coverage coverage;
  std::uint64_t& compared = coverage.Point("samples compared", 3'000);
  std::uint64_t& full = coverage.Point("runs of 15", 20);
  std::uint64_t& empty = coverage.Point("runs of 0", 10);
  for (int round = 0; round < 500 && !HasFatalFailure(); ++round) {
    host_.pace.percent = round % 4 == 0 ? 100 : 10 + random_() % 90;
    const BeaconModel model = RandomBeacon(random_, static_cast<BeaconRange>(round % 3));
    const Samples samples = RandomSamples(random_() % 16);
    PushWeights(model);
    PushSamples(samples);
    Finish();
    Start(samples.size());
    ExpectAllOkay();
    WaitUntilDone();
    ExpectPositions(model, samples);
    ExpectWeights(model);
    EXPECT_EQ(Status(), BeaconBit::kDone);
    compared += samples.size();
    full += samples.size() == 15;
    empty += samples.empty();
  }
}

TEST_F(BeaconPortsTest, ASingleWeightIsReplacedAndTheOthersStay) {
  host_.pace.percent = 60;
  nn::BeaconNetwork network;
  for (double& parameter : network.parameters) parameter = static_cast<double>(random_() % 512) / 256.0;
  PushWeights(BeaconModel(network));
  for (std::size_t i = 0; i < network.parameters.size() && !HasFatalFailure(); ++i) {
    network.parameters[i] = -1.0 - static_cast<double>(i) / 256.0;
    const std::size_t layer = i < kLayerWeights[0] ? 0 : 1;
    const BeaconModel model(network);
    Push(host_.weights_write[layer], i - layer * kLayerWeights[0],
         {static_cast<std::uint32_t>(model.weights()[i])});
    Finish();
    ExpectWeights(model);
  }
  ExpectAllOkay();
}

TEST_F(BeaconPortsTest, InputsBeyondElevenBitsSaturate) {
  Samples written(15), clamped(15);
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      written[i][k] = static_cast<std::int32_t>(random_()) >> (random_() % 24);
      clamped[i][k] = std::clamp(written[i][k], -1'024, 1'023);
    }
  }
  const BeaconModel model = Prepare(written);
  Start(15);
  WaitUntilDone();
  ExpectPositions(model, clamped);
}

TEST_F(BeaconPortsTest, AShortRunLeavesTheOtherOutputsOfALongOne) {
  Samples samples = RandomSamples(15);
  const BeaconModel model = Prepare(samples);
  Start(15);
  WaitUntilDone();
  for (const std::size_t count : {7u, 3u, 0u}) {
    const Samples others = RandomSamples(count);
    PushSamples(others);
    Finish();
    std::ranges::copy(others, samples.begin());
    Start(count);
    WaitUntilDone();
    ExpectPositions(model, samples);
  }
}

TEST_F(BeaconPortsTest, AStartWhileARunGoesOnIsRefusedAndSaidInTheStatus) {
  const Samples samples = RandomSamples(15);
  const BeaconModel model = Prepare(samples);
  Start(15);
  Start(3);
  EXPECT_EQ(Status(), BeaconBit::kBusy | BeaconBit::kStartRefused);
  EXPECT_EQ(ReadRegister(BeaconRegister::kControl), BeaconBit::kStart | 15);
  WaitUntilDone();
  EXPECT_EQ(Status(), BeaconBit::kDone | BeaconBit::kStartRefused);
  EXPECT_EQ(ReadRegister(BeaconRegister::kControl), 15u);
  ExpectPositions(model, samples);
  // It stays until it is cleared, through a run too.
  Start(2);
  WaitUntilDone();
  EXPECT_EQ(Status(), BeaconBit::kDone | BeaconBit::kStartRefused);
  WriteRegister(BeaconRegister::kStatus, BeaconBit::kDone | BeaconBit::kBusy | BeaconBit::kWordRefused);
  EXPECT_EQ(Status(), BeaconBit::kStartRefused);
  WriteRegister(BeaconRegister::kStatus, BeaconBit::kStartRefused);
  EXPECT_EQ(Status(), 0u);
}

TEST_F(BeaconPortsTest, NoMemoryChangesUnderARun) {
  for (int port = 0; port < 9; ++port) {
    const Samples samples = RandomSamples(15);
    const BeaconModel model = Prepare(samples);
    Start(15);
    const auto write = [](AxiWriteHost& host) { host.Push({.address = 0x8, .words = {0x123, 0x321}}); };
    const auto read = [](AxiReadHost& host) { host.Push({.address = 0x8, .words = 2}); };
    if (port < 3) write(host_.inputs[static_cast<std::size_t>(port)]);
    if (port == 3 || port == 4) write(host_.weights_write[static_cast<std::size_t>(port - 3)]);
    if (port == 5 || port == 6) read(host_.weights_read[static_cast<std::size_t>(port - 5)]);
    if (port == 7 || port == 8) read(host_.outputs[static_cast<std::size_t>(port - 7)]);
    Finish();
    ExpectAllOkay();
    std::vector<AxiReadHost::Word> words;
    for (auto* ports : {&host_.weights_read, &host_.outputs}) {
      for (AxiReadHost& host : *ports) {
        for (const AxiReadHost::Word& word : host.TakeWords()) words.push_back(word);
      }
    }
    EXPECT_EQ(words.size(), port < 5 ? 0u : 2u);
    EXPECT_THAT(words, testing::Each(AxiReadHost::Word{0, device::kAxiOkay}));
    EXPECT_EQ(Status(), BeaconBit::kBusy | BeaconBit::kWordRefused) << "port " << port;
    WaitUntilDone();
    ExpectPositions(model, samples);
    ExpectWeights(model);
    // The samples stay, too.
    Start(15);
    WaitUntilDone();
    ExpectPositions(model, samples);
    EXPECT_EQ(Status(), BeaconBit::kDone | BeaconBit::kWordRefused);
    WriteRegister(BeaconRegister::kStatus, BeaconBit::kStartRefused);
    EXPECT_EQ(Status(), BeaconBit::kDone | BeaconBit::kWordRefused);
    WriteRegister(BeaconRegister::kStatus, BeaconBit::kWordRefused);
    EXPECT_EQ(Status(), BeaconBit::kDone);
  }
}

TEST_F(BeaconPortsTest, WordsThatDoNotFitAreAnsweredWithAnErrorAndChangeNothing) {
  const Samples samples = RandomSamples(15);
  const BeaconModel model = Prepare(samples);
  const std::vector<AxiWriteHost::Burst> wrong = {
      {.address = 4 * 40, .words = {1, 2}},               // behind the memory
      {.address = 0xffc, .words = {1, 2, 3}},             // on to the end of the window and beyond
      {.address = 0, .words = {1, 2}, .strobes = 0x7},    // not whole
      {.address = 0, .words = {1, 2}, .strobes = 0xe},    //
      {.address = 0, .words = {1, 2}, .kind = 0},         // the same address again and again
      {.address = 0, .words = {1, 2, 3, 4}, .kind = 2}};  // round a boundary
  std::vector<AxiWriteHost*> ports;
  for (AxiWriteHost& port : host_.inputs) ports.push_back(&port);
  for (AxiWriteHost& port : host_.weights_write) ports.push_back(&port);
  for (AxiWriteHost* port : ports) {
    for (const AxiWriteHost::Burst& burst : wrong) {
      port->Push(burst);
      Finish();
      EXPECT_THAT(port->TakeAnswers(), testing::ElementsAre(device::kAxiSlaveError));
      EXPECT_EQ(Status(), BeaconBit::kWordRefused);
      WriteRegister(BeaconRegister::kStatus, BeaconBit::kWordRefused);
    }
  }
  ExpectAllOkay();
  ExpectWeights(model);
  Start(15);
  WaitUntilDone();
  ExpectPositions(model, samples);

  std::vector<std::pair<AxiReadHost*, std::size_t>> readable = {{&host_.outputs[0], 16},
                                                                {&host_.outputs[1], 16},
                                                                {&host_.weights_read[0], 40},
                                                                {&host_.weights_read[1], 22}};
  WriteRegister(BeaconRegister::kStatus, BeaconBit::kDone);
  for (const auto& [port, words] : readable) {
    port->Push({.address = static_cast<std::uint16_t>(4 * (words - 1)), .words = 3});
    Finish();
    const std::vector<AxiReadHost::Word> read = port->TakeWords();
    ASSERT_EQ(read.size(), 3u);
    EXPECT_EQ(read[0].answer, device::kAxiOkay);
    EXPECT_EQ(read[1], (AxiReadHost::Word{0, device::kAxiSlaveError}));
    EXPECT_EQ(read[2], (AxiReadHost::Word{0, device::kAxiSlaveError}));
    EXPECT_EQ(Status(), BeaconBit::kWordRefused);
    port->Push({.address = 0xffc, .words = 3});
    port->Push({.address = 0, .words = 2, .kind = 0});
    Finish();
    EXPECT_THAT(port->TakeWords(), testing::Each(AxiReadHost::Word{0, device::kAxiSlaveError}));
    WriteRegister(BeaconRegister::kStatus, BeaconBit::kWordRefused);
    EXPECT_EQ(Status(), 0u);
  }
}

// The last word of each memory is the last that fits.
TEST_F(BeaconPortsTest, EachMemoryHasItsSize) {
  const std::vector<std::pair<AxiWriteHost*, std::size_t>> ports = {{&host_.inputs[0], 16},
                                                                    {&host_.inputs[1], 16},
                                                                    {&host_.inputs[2], 16},
                                                                    {&host_.weights_write[0], 40},
                                                                    {&host_.weights_write[1], 22}};
  for (const auto& [port, words] : ports) {
    Push(*port, words - 1, {5, 6});
    port->Push({.address = static_cast<std::uint16_t>(4 * (words - 1)), .words = {7}});
    port->Push({.address = static_cast<std::uint16_t>(4 * (words - 1)), .words = {7, 8}});
    Finish();
    const std::vector<std::uint8_t> answers = port->TakeAnswers();
    ASSERT_GE(answers.size(), 3u);
    EXPECT_EQ(answers[answers.size() - 2], device::kAxiOkay);
    EXPECT_EQ(answers.back(), device::kAxiSlaveError);
  }
}

TEST_F(BeaconPortsTest, InterruptsWhenARunIsDoneIfTheHostWantsThat) {
  const Samples samples = RandomSamples(4);
  Prepare(samples);
  Start(4);
  WaitUntilDone();
  EXPECT_FALSE(host_.interrupt());
  WriteRegister(BeaconRegister::kInterrupt, 0xffff'fffe);
  EXPECT_FALSE(host_.interrupt());
  WriteRegister(BeaconRegister::kInterrupt, 1);
  EXPECT_EQ(ReadRegister(BeaconRegister::kInterrupt), 1u);
  EXPECT_TRUE(host_.interrupt());
  Start(4);
  EXPECT_FALSE(host_.interrupt());
  for (int i = 0; i < 200 && !host_.interrupt(); ++i) host_.Step();
  EXPECT_TRUE(host_.interrupt());
  EXPECT_EQ(Status(), BeaconBit::kDone);
  WriteRegister(BeaconRegister::kStatus, BeaconBit::kDone);
  EXPECT_FALSE(host_.interrupt());
  WriteRegister(BeaconRegister::kInterrupt, 0);
  EXPECT_EQ(ReadRegister(BeaconRegister::kInterrupt), 0u);
}

TEST_F(BeaconPortsTest, AWriteOfPartOfARegisterIsAnsweredWithAnError) {
  Prepare(RandomSamples(2));
  for (std::uint8_t strobes = 0; strobes < 15; ++strobes) {
    for (const std::uint32_t offset : {BeaconRegister::kControl, BeaconRegister::kInterrupt}) {
      host_.control_write.Push({.address = static_cast<std::uint16_t>(offset),
                                .words = {BeaconBit::kStart | 1},
                                .strobes = strobes});
      Finish();
      EXPECT_THAT(host_.control_write.TakeAnswers(), testing::ElementsAre(device::kAxiSlaveError));
    }
  }
  for (int clock = 0; clock < 100; ++clock) host_.Step();
  EXPECT_EQ(Status(), 0u);
  EXPECT_EQ(ReadRegister(BeaconRegister::kInterrupt), 0u);
}

TEST_F(BeaconPortsTest, AWriteWithoutTheStartBitOrElsewhereStartsNothing) {
  Prepare(RandomSamples(2));
  WriteRegister(BeaconRegister::kControl, 0x7fff'ffff);
  for (const std::uint32_t offset : {0x04u, 0x0cu, 0x10u, 0x40u, 0x100u, 0x800u}) {
    WriteRegister(offset, BeaconBit::kStart | 2);
    if (offset > BeaconRegister::kCycles) {
      EXPECT_EQ(ReadRegister(offset), 0u);
    }
  }
  for (int clock = 0; clock < 100; ++clock) host_.Step();
  EXPECT_EQ(Status(), 0u);
  EXPECT_EQ(ReadRegister(BeaconRegister::kControl), 0u);
  EXPECT_EQ(ReadRegister(BeaconRegister::kInterrupt), 0u);
}

TEST_F(BeaconPortsTest, CountsTheCyclesOfARunAndOfAnUpdateOfAllWeights) {
  constexpr std::uint32_t kOne = 20, kEach = 5;
  for (const std::uint32_t samples : {1u, 15u, 4u}) {
    Prepare(RandomSamples(samples));
    Start(samples);
    WaitUntilDone();
    for (int clock = 0; clock < 50; ++clock) host_.Step();
    EXPECT_EQ(ReadRegister(BeaconRegister::kCycles), kOne + kEach * (samples - 1));
    std::printf("beacon_ports: %u samples %u cycles\n", samples, ReadRegister(BeaconRegister::kCycles));
  }
  // Bursts of 16, 16 and 8, and meanwhile 16 and 6: layer 1 goes first.
  const std::uint64_t begin = host_.cycle();
  PushWeights(RandomBeacon(random_, BeaconRange::kTrained), true);
  Finish();
  const std::uint64_t all = host_.cycle() - begin;
  std::printf("beacon_ports: all weights %llu cycles\n", static_cast<unsigned long long>(all));
  EXPECT_LE(all, 68u);
}

TEST_F(BeaconPortsTest, KnowsOfNothingAfterAReset) {
  for (int round = 0; round < 60; ++round) {
    host_.pace.percent = 30 + random_() % 71;
    Prepare(RandomSamples(15));
    WriteRegister(BeaconRegister::kInterrupt, 1);
    Start(15);
    Start(15);
    host_.inputs[0].Push({.address = 0, .words = {1, 2, 3, 4}});
    host_.outputs[1].Push({.address = 0, .words = 4});
    host_.weights_read[0].Push({.address = 0, .words = 16});
    for (unsigned clock = random_() % 40; clock > 0; --clock) host_.Step();
    host_.Reset();
    EXPECT_EQ(Status(), 0u);
    EXPECT_EQ(ReadRegister(BeaconRegister::kControl), 0u);
    EXPECT_EQ(ReadRegister(BeaconRegister::kInterrupt), 0u);
    for (int clock = 0; clock < 60; ++clock) host_.Step();
    EXPECT_EQ(Status(), 0u);
    EXPECT_FALSE(host_.interrupt());
    const Samples samples = RandomSamples(1 + random_() % 15);
    const BeaconModel model = Prepare(samples);
    Start(samples.size());
    ExpectAllOkay();
    WaitUntilDone();
    ExpectPositions(model, samples);
  }
}

}  // namespace
}  // namespace tributary::fpga
