// AXI4 slave for writing: incrementing bursts of whole 32-bit words into a memory of WORDS words, one burst at a time.
// A word is refused, which refused_o says, while enable_i is low: the host may not change what is in use. A word
// outside of the memory, a word with missing bytes and a burst of another kind are refused too, and answered with an error.
module beacon_write_port #(
  parameter int WORDS = 16,
  parameter int WW    = $clog2(WORDS)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic [11:0]   axi_awaddr_i,
  input  logic [7:0]    axi_awlen_i,
  input  logic [1:0]    axi_awburst_i,
  input  logic          axi_awvalid_i,
  output logic          axi_awready_o,
  input  logic [3:0]    axi_wstrb_i,
  input  logic          axi_wlast_i,
  input  logic          axi_wvalid_i,
  output logic          axi_wready_o,
  output logic [1:0]    axi_bresp_o,
  output logic          axi_bvalid_o,
  input  logic          axi_bready_i,
  input  logic          enable_i,
  input  logic          grant_i,    // a word may be taken
  output logic          request_o,  // one waits
  output logic          write_o,
  output logic [WW-1:0] word_o,
  output logic          refused_o
);
  localparam logic [1:0] INCR = 2'b01;
  typedef enum logic [1:0] {Idle, Data, Answer} state_e;
  state_e      state_q;
  logic [10:0] word_q;  // does not come round within a burst
  logic        burst_q, bad_q;  // of a kind that is known; with a word that does not fit

  logic fits, take;
  assign request_o = state_q == Data && axi_wvalid_i;
  assign take      = request_o && grant_i;
  assign fits      = burst_q && word_q < 11'(WORDS) && axi_wstrb_i == 4'hf;
  assign write_o   = take && fits && enable_i;
  assign word_o    = word_q[WW-1:0];
  assign refused_o = take && !(fits && enable_i);

  assign axi_awready_o = state_q == Idle;
  assign axi_wready_o  = take;
  assign axi_bvalid_o  = state_q == Answer;
  assign axi_bresp_o   = {bad_q, 1'b0};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle:    if (axi_awvalid_i) state_q <= Data;
        Data:    if (take && axi_wlast_i) state_q <= Answer;
        default: if (axi_bready_i) state_q <= Idle;
      endcase
    end
    if (state_q == Idle) begin
      word_q  <= {1'b0, axi_awaddr_i[11:2]};
      burst_q <= axi_awburst_i == INCR;
      bad_q   <= 1'b0;
    end else if (take) begin
      word_q <= word_q + 11'd1;
      bad_q  <= bad_q || !fits;
    end
  end
  logic unused_address;
  assign unused_address = ^axi_awaddr_i[1:0];

  axi_slave_write_check check_port (
    .clk_i, .rst_ni, .awlen_i(axi_awlen_i), .awvalid_i(axi_awvalid_i), .awready_i(axi_awready_o),
    .wlast_i(axi_wlast_i), .wvalid_i(axi_wvalid_i), .wready_i(axi_wready_o), .bresp_i(axi_bresp_o),
    .bvalid_i(axi_bvalid_o), .bready_i(axi_bready_i)
  );
endmodule
