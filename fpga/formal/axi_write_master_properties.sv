// The write master requests only bursts that AXI4 allows, sends exactly their words after the address, marks
// the last one, never stalls the channel, and reports the end only after every answer.
module axi_write_master_properties #(
  parameter int MAX_BURST = 4,
  parameter int DEPTH = 4
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [63:0] cmd_address_i,
  input logic [31:0] cmd_words_i,
  input logic        cmd_valid_i,
  input logic        in_data_i,
  input logic        in_valid_i,
  input logic        error_clear_i,
  input logic        axi_awready_i,
  input logic        axi_wready_i,
  input logic [1:0]  axi_bresp_i,
  input logic        axi_bvalid_i
);
  initial assume (!rst_ni);

  logic [63:0] awaddr;
  logic [7:0]  awlen;
  logic        cmd_ready, in_ready, error, awvalid, wlast, wvalid, wdata, bready;
  axi_write_master #(.DATA_BITS(1), .MAX_BURST(MAX_BURST), .DEPTH(DEPTH)) dut (
    .clk_i, .rst_ni, .cmd_address_i, .cmd_words_i, .cmd_valid_i, .cmd_ready_o(cmd_ready),
    .in_data_i, .in_valid_i, .in_ready_o(in_ready), .error_o(error), .error_clear_i,
    .axi_awaddr_o(awaddr), .axi_awlen_o(awlen), .axi_awvalid_o(awvalid), .axi_awready_i,
    .axi_wdata_o(wdata), .axi_wlast_o(wlast), .axi_wvalid_o(wvalid), .axi_wready_i,
    .axi_bresp_i, .axi_bvalid_i, .axi_bready_o(bready)
  );

  localparam int LW = $clog2(DEPTH) + 2;
  (* observe = "dut.state_q" *) wire [1:0] state;
  (* observe = "dut.unasked_q" *) wire [31:0] unasked;
  (* observe = "dut.beats_q" *) wire [8:0] beats;
  (* observe = "dut.unsent_q" *) wire [8:0] unsent;
  (* observe = "dut.unanswered_q" *) wire [7:0] unanswered;
  (* observe = "dut.held" *) wire [LW-1:0] held;
  (* observe = "dut.fifo_valid" *) wire fifo_valid;

  logic [8:0] owed_q;       // words of the burst in hand not yet sent
  logic [7:0] complete_q;   // bursts sent and not yet answered; the memory answers no others
  logic       reset_seen_q = 1'b0;
  wire asked    = awvalid & axi_awready_i;
  wire sent     = wvalid & axi_wready_i;
  wire answered = axi_bvalid_i & bready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      owed_q       <= '0;
      complete_q   <= '0;
    end else begin
      if (asked) owed_q <= {1'b0, awlen} + 9'd1;
      else if (sent) owed_q <= owed_q - 9'd1;
      complete_q <= complete_q + 8'(sent && owed_q == 9'd1) - 8'(answered);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && reset_seen_q) begin
      assume (!axi_bvalid_i || complete_q != '0);

      if (awvalid) begin
        assert (awlen < 8'(MAX_BURST));
        assert ({1'b0, awaddr[11:3]} + {2'b00, awlen} < 10'd512);
        assert (awaddr[2:0] == 3'b000);
        assert (32'(awlen) < unasked);
        assert (owed_q == '0);
      end
      if (wvalid) begin
        assert (owed_q != '0);
        assert (wlast == (owed_q == 9'd1));
      end
      if (owed_q != '0) assert (wvalid);
      if (cmd_ready) assert (owed_q == '0 && complete_q == '0);
      assert (bready);

      assert ((state == 2'd3) == (owed_q != '0));
      if (state == 2'd3) assert (unsent == owed_q && fifo_valid && 9'(held) >= owed_q);
      if (state == 2'd2) begin
        assert (beats >= 9'd1 && beats <= 9'(MAX_BURST));
        assert (fifo_valid && 9'(held) >= beats);
      end
      if (state == 2'd1 || state == 2'd2) assert (unasked != '0 && owed_q == '0);
      assert (owed_q <= 9'(MAX_BURST));
      assert (unanswered == complete_q + 8'(owed_q != '0));
      assert (complete_q != 8'hff || owed_q == '0);
      if (state == 2'd2) assert (unanswered != 8'hff);
      assert (32'(held) <= 32'(DEPTH) + 32'd1);

      cover (asked && complete_q != '0);
      cover (sent && wlast && awlen == '0);
    end
  end
endmodule
