// AXI4 slave for reading: incrementing bursts of 32-bit words from a memory of WORDS words, a word per cycle. While
// enable_i is low a word is zero, which refused_o says: the memory is in use. So is a word outside of the memory and one
// of a burst of another kind, which come with an error.
module beacon_read_port #(
  parameter int WORDS = 16,
  parameter int WW    = $clog2(WORDS)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic [11:0]   axi_araddr_i,
  input  logic [7:0]    axi_arlen_i,
  input  logic [1:0]    axi_arburst_i,
  input  logic          axi_arvalid_i,
  output logic          axi_arready_o,
  output logic [31:0]   axi_rdata_o,
  output logic [1:0]    axi_rresp_o,
  output logic          axi_rlast_o,
  output logic          axi_rvalid_o,
  input  logic          axi_rready_i,
  input  logic          enable_i,
  input  logic          grant_i,    // the memory may be read
  output logic          request_o,  // a word is wanted
  output logic [WW-1:0] word_o,
  input  logic [31:0]   data_i,     // of word_o, in the same cycle
  output logic          refused_o
);
  localparam logic [1:0] INCR = 2'b01;
  logic        busy_q, burst_q, rvalid_q, rlast_q, rbad_q;
  logic [10:0] word_q;  // does not come round within a burst
  logic [7:0]  left_q;  // words behind the next one
  logic [31:0] rdata_q;

  logic fits, step, last;
  assign request_o = busy_q && (!rvalid_q || axi_rready_i);
  assign step      = request_o && grant_i;
  assign fits      = burst_q && word_q < 11'(WORDS);
  assign last      = left_q == '0;
  assign word_o    = word_q[WW-1:0];
  assign refused_o = step && !(fits && enable_i);

  assign axi_arready_o = !busy_q;
  assign axi_rdata_o   = rdata_q;
  assign axi_rresp_o   = {rbad_q, 1'b0};
  assign axi_rlast_o   = rlast_q;
  assign axi_rvalid_o  = rvalid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q   <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (!busy_q) busy_q <= axi_arvalid_i;
      else if (step && last) busy_q <= 1'b0;
      if (step) rvalid_q <= 1'b1;
      else if (axi_rready_i) rvalid_q <= 1'b0;
    end
    if (!busy_q) begin
      word_q  <= {1'b0, axi_araddr_i[11:2]};
      left_q  <= axi_arlen_i;
      burst_q <= axi_arburst_i == INCR;
    end else if (step) begin
      word_q <= word_q + 11'd1;
      left_q <= left_q - 8'd1;
    end
    if (step) begin
      rdata_q <= fits && enable_i ? data_i : '0;
      rlast_q <= last;
      rbad_q  <= !fits;
    end
  end
  logic unused_address;
  assign unused_address = ^axi_araddr_i[1:0];

  axi_slave_read_check check_port (
    .clk_i, .rst_ni, .arlen_i(axi_arlen_i), .arvalid_i(axi_arvalid_i), .arready_i(axi_arready_o),
    .rdata_i(axi_rdata_o), .rresp_i(axi_rresp_o), .rlast_i(axi_rlast_o), .rvalid_i(axi_rvalid_o),
    .rready_i(axi_rready_i)
  );
endmodule
