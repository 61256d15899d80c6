// A Verilated kernel. Every kernel has the ports of fpga/rtl/kernel/kernel_ports.svh.
#pragma once

#include <memory>

#include "fpga/device/kernel_model.h"
#include "verilated.h"

namespace tributary::device {

template <typename Top>
class VerilatedKernel final : public KernelModel {
 public:
  // Registers and memories without a reset start with arbitrary values, as on a board, but always the same.
  explicit VerilatedKernel(BusMemory* memory)
      : context_(std::make_unique<VerilatedContext>()), port_(memory) {
    context_->randReset(2);
    context_->randSeed(20'042);
    top_ = std::make_unique<Top>(context_.get());
    Reset();
  }
  ~VerilatedKernel() override {
    // The model's scopes leave the context that the thread used last. Another thread made this model; this
    // thread's own model, and its context with it, may be gone since a board was opened again.
    Verilated::threadContextp(context_.get());
    top_->final();
    top_.reset();
  }

  void Reset() override {
    port_.Reset();
    top_->ap_rst_n = 0;
    top_->s_axi_control_awvalid = top_->s_axi_control_wvalid = top_->s_axi_control_arvalid = 0;
    top_->s_axi_control_bready = top_->s_axi_control_rready = 1;
    for (int i = 0; i < kResetClocks; ++i) Step();
    top_->ap_rst_n = 1;
    Step();
  }

  void Step() override {
    Drive();
    top_->ap_clk = 0;
    top_->eval();
    const AxiMasterSignals kernel = Sample();
    control_ = {top_->s_axi_control_awready != 0, top_->s_axi_control_wready != 0,
                top_->s_axi_control_arready != 0, top_->s_axi_control_rvalid != 0, top_->s_axi_control_rdata};
    top_->ap_clk = 1;
    top_->eval();
    if (top_->ap_rst_n != 0) port_.Clock(kernel);
  }

  std::uint32_t ReadRegister(std::uint32_t offset) override {
    top_->s_axi_control_araddr = offset & kAddressMask;
    top_->s_axi_control_arvalid = 1;
    do Step();
    while (!control_.arready);
    top_->s_axi_control_arvalid = 0;
    do Step();
    while (!control_.rvalid);
    return control_.rdata;
  }

  void WriteRegister(std::uint32_t offset, std::uint32_t value) override {
    top_->s_axi_control_awaddr = offset & kAddressMask;
    top_->s_axi_control_wdata = value;
    top_->s_axi_control_wstrb = 0xf;
    top_->s_axi_control_awvalid = top_->s_axi_control_wvalid = 1;
    do Step();
    while (!control_.awready || !control_.wready);
    top_->s_axi_control_awvalid = top_->s_axi_control_wvalid = 0;
    Step();
  }

  // The name is Verilator's for the port `interrupt`.
  bool interrupt() const override { return top_->__SYM__interrupt != 0; }
  AxiMemoryPort& memory_port() override { return port_; }
  Top& top() { return *top_; }

 private:
  static constexpr int kResetClocks = 4;
  static constexpr std::uint32_t kAddressMask = 0x7f;  // the control port has 128 bytes

  // The control port before the last rising edge.
  struct Control {
    bool awready = false, wready = false, arready = false, rvalid = false;
    std::uint32_t rdata = 0;
  };

  void Drive() {
    const AxiMemorySignals& memory = port_.signals();
    top_->m_axi_gmem_awready = memory.awready;
    top_->m_axi_gmem_wready = memory.wready;
    top_->m_axi_gmem_bvalid = memory.bvalid;
    top_->m_axi_gmem_bresp = memory.bresp;
    top_->m_axi_gmem_arready = memory.arready;
    top_->m_axi_gmem_rvalid = memory.rvalid;
    top_->m_axi_gmem_rdata = memory.rdata;
    top_->m_axi_gmem_rresp = memory.rresp;
    top_->m_axi_gmem_rlast = memory.rlast;
  }

  AxiMasterSignals Sample() const {
    AxiMasterSignals kernel;
    kernel.awaddr = top_->m_axi_gmem_awaddr;
    kernel.awlen = top_->m_axi_gmem_awlen;
    kernel.awvalid = top_->m_axi_gmem_awvalid != 0;
    kernel.wdata = top_->m_axi_gmem_wdata;
    kernel.wstrb = top_->m_axi_gmem_wstrb;
    kernel.wlast = top_->m_axi_gmem_wlast != 0;
    kernel.wvalid = top_->m_axi_gmem_wvalid != 0;
    kernel.bready = top_->m_axi_gmem_bready != 0;
    kernel.araddr = top_->m_axi_gmem_araddr;
    kernel.arlen = top_->m_axi_gmem_arlen;
    kernel.arvalid = top_->m_axi_gmem_arvalid != 0;
    kernel.rready = top_->m_axi_gmem_rready != 0;
    return kernel;
  }

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Top> top_;
  AxiMemoryPort port_;
  Control control_;
};

}  // namespace tributary::device
