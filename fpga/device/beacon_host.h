// A Verilated beacon_ports with a host at each of its ports.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "Vbeacon_ports.h"
#include "fpga/device/axi_host.h"
#include "verilated.h"

namespace tributary::device {

#define TRIBUTARY_WRITE_PINS(port)                                                                 \
  AxiWritePins {                                                                                   \
    &top_->s_axi_##port##_awaddr, &top_->s_axi_##port##_awlen, &top_->s_axi_##port##_awburst,      \
        &top_->s_axi_##port##_awvalid, &top_->s_axi_##port##_awready, &top_->s_axi_##port##_wdata, \
        &top_->s_axi_##port##_wstrb, &top_->s_axi_##port##_wlast, &top_->s_axi_##port##_wvalid,    \
        &top_->s_axi_##port##_wready, &top_->s_axi_##port##_bresp, &top_->s_axi_##port##_bvalid,   \
        &top_->s_axi_##port##_bready                                                               \
  }
#define TRIBUTARY_READ_PINS(port)                                                                  \
  AxiReadPins {                                                                                    \
    &top_->s_axi_##port##_araddr, &top_->s_axi_##port##_arlen, &top_->s_axi_##port##_arburst,      \
        &top_->s_axi_##port##_arvalid, &top_->s_axi_##port##_arready, &top_->s_axi_##port##_rdata, \
        &top_->s_axi_##port##_rresp, &top_->s_axi_##port##_rlast, &top_->s_axi_##port##_rvalid,    \
        &top_->s_axi_##port##_rready                                                               \
  }

// One thread. Registers and memories without a reset start with arbitrary values, but always the same.
class BeaconHost {
 private:
  std::unique_ptr<VerilatedContext> context_ = [] {
    auto context = std::make_unique<VerilatedContext>();
    context->randReset(2);
    context->randSeed(20'042);
    return context;
  }();
  std::unique_ptr<Vbeacon_ports> top_ = std::make_unique<Vbeacon_ports>(context_.get());
  std::uint64_t cycle_ = 0;

 public:
  BeaconHost() { Reset(); }
  ~BeaconHost() {
    Verilated::threadContextp(context_.get());  // as in VerilatedKernel
    top_->final();
    top_.reset();
    // Models that this thread makes later take the thread's context.
    Verilated::threadContextp(Verilated::defaultContextp());
  }

  AxiPace pace;
  AxiWriteHost control_write{{&top_->s_axi_control_awaddr, nullptr, nullptr, &top_->s_axi_control_awvalid,
                              &top_->s_axi_control_awready, &top_->s_axi_control_wdata,
                              &top_->s_axi_control_wstrb, nullptr, &top_->s_axi_control_wvalid,
                              &top_->s_axi_control_wready, &top_->s_axi_control_bresp,
                              &top_->s_axi_control_bvalid, &top_->s_axi_control_bready}};
  AxiReadHost control_read{{&top_->s_axi_control_araddr, nullptr, nullptr, &top_->s_axi_control_arvalid,
                            &top_->s_axi_control_arready, &top_->s_axi_control_rdata,
                            &top_->s_axi_control_rresp, nullptr, &top_->s_axi_control_rvalid,
                            &top_->s_axi_control_rready}};
  std::array<AxiWriteHost, 3> inputs{AxiWriteHost(TRIBUTARY_WRITE_PINS(x0)),
                                     AxiWriteHost(TRIBUTARY_WRITE_PINS(x1)),
                                     AxiWriteHost(TRIBUTARY_WRITE_PINS(x2))};
  std::array<AxiReadHost, 2> outputs{AxiReadHost(TRIBUTARY_READ_PINS(y0)),
                                     AxiReadHost(TRIBUTARY_READ_PINS(y1))};
  std::array<AxiWriteHost, 2> weights_write{AxiWriteHost(TRIBUTARY_WRITE_PINS(layer1)),
                                            AxiWriteHost(TRIBUTARY_WRITE_PINS(layer2))};
  std::array<AxiReadHost, 2> weights_read{AxiReadHost(TRIBUTARY_READ_PINS(layer1)),
                                          AxiReadHost(TRIBUTARY_READ_PINS(layer2))};

  void Reset() {
    top_->ap_rst_n = 0;
    for (int clock = 0; clock < 4; ++clock) {
      ForEach([](auto& host) { host.Clear(); });
      Step();
    }
    ForEach([](auto& host) { host.Clear(); });
    top_->ap_rst_n = 1;
  }

  void Step() {
    ForEach([this](auto& host) { host.Drive(pace); });
    top_->ap_clk = 0;
    top_->eval();
    ForEach([](auto& host) { host.Sample(); });
    top_->ap_clk = 1;
    top_->eval();
    ++cycle_;
  }

  // Everything that was pushed has its answer.
  bool idle() {
    bool all = true;
    ForEach([&](const auto& host) { all = all && host.idle(); });
    return all;
  }

  // False if something is not answered in time.
  bool Finish() {
    constexpr int kHangs = 100'000;
    for (int clock = 0; clock < kHangs && !idle(); ++clock) Step();
    return idle();
  }

  // The name is Verilator's for the port `interrupt`.
  bool interrupt() const { return top_->__SYM__interrupt != 0; }
  std::uint64_t cycle() const { return cycle_; }

 private:
  template <typename Call>
  void ForEach(Call call) {
    call(control_write);
    call(control_read);
    for (auto& host : inputs) call(host);
    for (auto& host : outputs) call(host);
    for (auto& host : weights_write) call(host);
    for (auto& host : weights_read) call(host);
  }
};

#undef TRIBUTARY_WRITE_PINS
#undef TRIBUTARY_READ_PINS

}  // namespace tributary::device
