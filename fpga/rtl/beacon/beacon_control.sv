// The registers of [BEACON], with what its status left open: AXI4-Lite, whole words.
//
// 0x00 control   write: bit 31 starts, bits 3:0 LEN, the samples to compute; read: bit 31 busy, LEN
// 0x04 status    bit 0 done, 1 busy, 2 a start was refused because one was running, 3 a port has refused a word;
//                writing 1 to bits 0, 2 and 3 clears them, and a start clears bit 0
// 0x08 interrupt bit 0: the interrupt line shows done
// 0x0C cycles    of the last run, from its start until done (read)
// A write with missing bytes is answered with an error and changes nothing.
module beacon_control (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [11:0] axi_awaddr_i,
  input  logic        axi_awvalid_i,
  output logic        axi_awready_o,
  input  logic [31:0] axi_wdata_i,
  input  logic [3:0]  axi_wstrb_i,
  input  logic        axi_wvalid_i,
  output logic        axi_wready_o,
  output logic [1:0]  axi_bresp_o,
  output logic        axi_bvalid_o,
  input  logic        axi_bready_i,
  input  logic [11:0] axi_araddr_i,
  input  logic        axi_arvalid_i,
  output logic        axi_arready_o,
  output logic [31:0] axi_rdata_o,
  output logic [1:0]  axi_rresp_o,
  output logic        axi_rvalid_o,
  input  logic        axi_rready_i,
  output logic        interrupt_o,
  output logic        start_o,     // one cycle
  output logic [3:0]  length_o,    // of the run
  input  logic        busy_i,      // from the cycle after start_o
  input  logic        finished_i,  // in the last cycle of busy_i
  input  logic        refused_i    // a port refuses a word
);
  localparam logic [9:0] CONTROL = 10'd0, STATUS = 10'd1, INTERRUPT = 10'd2, CYCLES = 10'd3;

  logic        bvalid_q, bad_q, rvalid_q, done_q, start_refused_q, word_refused_q, enable_q;
  logic [3:0]  length_q;
  logic [31:0] rdata_q, rdata_d, cycles_q;

  logic       write, whole, read, starting;
  logic [9:0] write_word, read_word;
  assign write      = axi_awvalid_i && axi_wvalid_i && (!bvalid_q || axi_bready_i);
  assign whole      = write && axi_wstrb_i == 4'hf;
  assign read       = axi_arvalid_i && (!rvalid_q || axi_rready_i);
  assign write_word = axi_awaddr_i[11:2];
  assign read_word  = axi_araddr_i[11:2];
  assign starting   = whole && write_word == CONTROL && axi_wdata_i[31];

  assign axi_awready_o = write;
  assign axi_wready_o  = write;
  assign axi_bresp_o   = {bad_q, 1'b0};
  assign axi_bvalid_o  = bvalid_q;
  assign axi_arready_o = read;
  assign axi_rdata_o   = rdata_q;
  assign axi_rresp_o   = 2'b00;
  assign axi_rvalid_o  = rvalid_q;
  assign interrupt_o   = enable_q && done_q;
  assign start_o       = starting && !busy_i;
  assign length_o      = length_q;

  always_comb begin
    unique case (read_word)
      CONTROL:   rdata_d = {busy_i, 27'd0, length_q};
      STATUS:    rdata_d = {28'd0, word_refused_q, start_refused_q, busy_i, done_q};
      INTERRUPT: rdata_d = {31'd0, enable_q};
      CYCLES:    rdata_d = cycles_q;
      default:   rdata_d = '0;
    endcase
  end

  logic clear;
  assign clear = whole && write_word == STATUS;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bvalid_q        <= 1'b0;
      rvalid_q        <= 1'b0;
      done_q          <= 1'b0;
      start_refused_q <= 1'b0;
      word_refused_q  <= 1'b0;
      enable_q        <= 1'b0;
      length_q        <= '0;
    end else begin
      if (write) bvalid_q <= 1'b1;
      else if (axi_bready_i) bvalid_q <= 1'b0;
      if (read) rvalid_q <= 1'b1;
      else if (axi_rready_i) rvalid_q <= 1'b0;

      if (finished_i) done_q <= 1'b1;
      else if (start_o || (clear && axi_wdata_i[0])) done_q <= 1'b0;
      if (starting && busy_i) start_refused_q <= 1'b1;
      else if (clear && axi_wdata_i[2]) start_refused_q <= 1'b0;
      if (refused_i) word_refused_q <= 1'b1;
      else if (clear && axi_wdata_i[3]) word_refused_q <= 1'b0;
      if (whole && write_word == INTERRUPT) enable_q <= axi_wdata_i[0];
      if (start_o) length_q <= axi_wdata_i[3:0];
    end
    if (write) bad_q <= !whole;
    if (read) rdata_q <= rdata_d;
    if (start_o) cycles_q <= '0;
    else if (busy_i) cycles_q <= cycles_q + 32'd1;
  end
  logic unused_bits;
  assign unused_bits = ^{axi_awaddr_i[1:0], axi_araddr_i[1:0], axi_wdata_i[30:4]};

  axi_lite_check check_port (
    .clk_i, .rst_ni,
    .awvalid_i(axi_awvalid_i), .awready_i(axi_awready_o), .wvalid_i(axi_wvalid_i), .wready_i(axi_wready_o),
    .bresp_i(axi_bresp_o), .bvalid_i(axi_bvalid_o), .bready_i(axi_bready_i),
    .arvalid_i(axi_arvalid_i), .arready_i(axi_arready_o), .rdata_i(axi_rdata_o), .rresp_i(axi_rresp_o),
    .rvalid_i(axi_rvalid_o), .rready_i(axi_rready_i)
  );
endmodule
