// The host's side of a 32-bit AXI4 slave port of a Verilated model. A port without the pins of bursts is
// AXI4-Lite: its bursts have one word. Per clock: Drive(), eval() with the clock low, Sample(), rising edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace tributary::device {

inline constexpr std::uint8_t kAxiIncrementing = 1;
inline constexpr std::uint8_t kAxiOkay = 0;
inline constexpr std::uint8_t kAxiSlaveError = 2;

// How often a side of a handshake is ready; what is not offered is noise.
struct AxiPace {
  std::mt19937 random{1};
  unsigned percent = 100;

  bool Go() { return percent >= 100 || random() % 100 < percent; }
};

// Null for pins that the port does not have.
struct AxiWritePins {
  std::uint16_t* awaddr;
  std::uint8_t *awlen, *awburst, *awvalid;
  const std::uint8_t* awready;
  std::uint32_t* wdata;
  std::uint8_t *wstrb, *wlast, *wvalid;
  const std::uint8_t *wready, *bresp, *bvalid;
  std::uint8_t* bready;
};

struct AxiReadPins {
  std::uint16_t* araddr;
  std::uint8_t *arlen, *arburst, *arvalid;
  const std::uint8_t* arready;
  const std::uint32_t* rdata;
  const std::uint8_t *rresp, *rlast, *rvalid;
  std::uint8_t* rready;
};

// Words may go ahead of their address.
class AxiWriteHost {
 public:
  struct Burst {
    std::uint16_t address = 0;
    std::vector<std::uint32_t> words;
    std::uint8_t strobes = 0xf;  // of every word
    std::uint8_t kind = kAxiIncrementing;
  };

  explicit AxiWriteHost(const AxiWritePins& pins) : pins_(pins) {}

  void Push(Burst burst) {
    for (std::size_t i = 0; i < burst.words.size(); ++i) {
      words_.push_back({burst.words[i], burst.strobes, i + 1 == burst.words.size()});
    }
    ++unanswered_;
    addresses_.push_back(std::move(burst));
  }

  // Every burst has its answer.
  bool idle() const { return unanswered_ == 0; }
  // The answers since the last call.
  std::vector<std::uint8_t> TakeAnswers() { return std::exchange(answers_, {}); }

  void Drive(AxiPace& pace) {
    address_valid_ = address_valid_ || (!addresses_.empty() && pace.Go());
    word_valid_ = word_valid_ || (!words_.empty() && pace.Go());
    *pins_.awvalid = address_valid_;
    *pins_.awaddr = address_valid_ ? addresses_.front().address : pace.random() & 0xfff;
    if (pins_.awlen != nullptr) {
      *pins_.awlen = address_valid_ ? static_cast<std::uint8_t>(addresses_.front().words.size() - 1)
                                    : static_cast<std::uint8_t>(pace.random());
      *pins_.awburst = address_valid_ ? addresses_.front().kind : pace.random() & 3;
      *pins_.wlast = word_valid_ ? words_.front().last : pace.random() & 1;
    }
    *pins_.wvalid = word_valid_;
    *pins_.wdata = word_valid_ ? words_.front().value : static_cast<std::uint32_t>(pace.random());
    *pins_.wstrb = word_valid_ ? words_.front().strobes : pace.random() & 0xf;
    *pins_.bready = pace.Go();
  }

  void Sample() {
    if (address_valid_ && *pins_.awready != 0) {
      addresses_.pop_front();
      address_valid_ = false;
    }
    if (word_valid_ && *pins_.wready != 0) {
      words_.pop_front();
      word_valid_ = false;
    }
    if (*pins_.bvalid != 0 && *pins_.bready != 0) {
      answers_.push_back(*pins_.bresp);
      --unanswered_;
    }
  }

  // Forgets everything: the model is reset.
  void Clear() { *this = AxiWriteHost(pins_); }

 private:
  struct Word {
    std::uint32_t value;
    std::uint8_t strobes;
    bool last;
  };

  AxiWritePins pins_;
  std::deque<Burst> addresses_;
  std::deque<Word> words_;
  std::vector<std::uint8_t> answers_;
  std::size_t unanswered_ = 0;
  bool address_valid_ = false, word_valid_ = false;
};

class AxiReadHost {
 public:
  struct Burst {
    std::uint16_t address = 0;
    std::size_t words = 1;
    std::uint8_t kind = kAxiIncrementing;
  };
  struct Word {
    std::uint32_t value;
    std::uint8_t answer;

    friend bool operator==(const Word&, const Word&) = default;
  };

  explicit AxiReadHost(const AxiReadPins& pins) : pins_(pins) {}

  void Push(const Burst& burst) {
    owed_ += burst.words;
    addresses_.push_back(burst);
  }

  bool idle() const { return owed_ == 0; }
  std::vector<Word> TakeWords() { return std::exchange(words_, {}); }

  void Drive(AxiPace& pace) {
    address_valid_ = address_valid_ || (!addresses_.empty() && pace.Go());
    *pins_.arvalid = address_valid_;
    *pins_.araddr = address_valid_ ? addresses_.front().address : pace.random() & 0xfff;
    if (pins_.arlen != nullptr) {
      *pins_.arlen = address_valid_ ? static_cast<std::uint8_t>(addresses_.front().words - 1)
                                    : static_cast<std::uint8_t>(pace.random());
      *pins_.arburst = address_valid_ ? addresses_.front().kind : pace.random() & 3;
    }
    *pins_.rready = pace.Go();
  }

  void Sample() {
    if (address_valid_ && *pins_.arready != 0) {
      addresses_.pop_front();
      address_valid_ = false;
    }
    if (*pins_.rvalid != 0 && *pins_.rready != 0) {
      words_.push_back({*pins_.rdata, *pins_.rresp});
      --owed_;
    }
  }

  void Clear() { *this = AxiReadHost(pins_); }

 private:
  AxiReadPins pins_;
  std::deque<Burst> addresses_;
  std::vector<Word> words_;
  std::size_t owed_ = 0;
  bool address_valid_ = false;
};

}  // namespace tributary::device
