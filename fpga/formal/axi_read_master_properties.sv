// The read master requests only bursts that AXI4 allows, exactly the words of the transfer, never more than
// its buffer can take, and accepts every requested word.
module axi_read_master_properties #(
  parameter int MAX_BURST = 4,
  parameter int DEPTH = 8
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [63:0] cmd_address_i,
  input logic [31:0] cmd_words_i,
  input logic        cmd_valid_i,
  input logic        out_ready_i,
  input logic        error_clear_i,
  input logic        axi_arready_i,
  input logic        axi_rdata_i,
  input logic [1:0]  axi_rresp_i,
  input logic        axi_rvalid_i
);
  initial assume (!rst_ni);

  logic [63:0] araddr;
  logic [7:0]  arlen;
  logic        cmd_ready, out_data, out_valid, error, arvalid, rready;
  axi_read_master #(.DATA_BITS(1), .MAX_BURST(MAX_BURST), .DEPTH(DEPTH)) dut (
    .clk_i, .rst_ni, .cmd_address_i, .cmd_words_i, .cmd_valid_i, .cmd_ready_o(cmd_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i, .error_o(error), .error_clear_i,
    .axi_araddr_o(araddr), .axi_arlen_o(arlen), .axi_arvalid_o(arvalid), .axi_arready_i,
    .axi_rdata_i, .axi_rresp_i, .axi_rvalid_i, .axi_rready_o(rready)
  );

  localparam int LW = $clog2(DEPTH) + 2;
  (* observe = "dut.state_q" *) wire [1:0] state;
  (* observe = "dut.unasked_q" *) wire [31:0] unasked;
  (* observe = "dut.unarrived_q" *) wire [31:0] unarrived;
  (* observe = "dut.beats_q" *) wire [8:0] beats;
  (* observe = "dut.claimed_q" *) wire [LW-2:0] claimed;
  (* observe = "dut.u_buffer.write_q" *) wire [LW-2:0] write_pointer;
  (* observe = "dut.u_buffer.read_q" *) wire [LW-2:0] read_pointer;
  logic [LW-2:0] stored;
  assign stored = write_pointer - read_pointer;

  // Requested words that have not arrived; the memory sends no others.
  logic [31:0] owed_q;
  logic        reset_seen_q = 1'b0;
  wire asked   = arvalid & axi_arready_i;
  wire arrived = axi_rvalid_i & rready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      owed_q       <= '0;
    end else begin
      owed_q <= owed_q + (asked ? 32'(arlen) + 32'd1 : 32'd0) - 32'(arrived);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && reset_seen_q) begin
      assume (!axi_rvalid_i || owed_q != '0);

      if (axi_rvalid_i) assert (rready);
      if (arvalid) begin
        assert (arlen < 8'(MAX_BURST));
        assert ({1'b0, araddr[11:3]} + {2'b00, arlen} < 10'd512);
        assert (araddr[2:0] == 3'b000);
        assert (32'(arlen) < unasked);
      end
      // A transfer ends when every word has arrived.
      if (cmd_ready) assert (owed_q == '0);

      assert (state != 2'd3);
      assert (owed_q <= 32'(DEPTH));
      assert (unarrived == owed_q + (state == 2'd0 ? 32'd0 : unasked));
      assert (state == 2'd0 || unasked >= 32'd1);
      if (state != 2'd0) assert (unasked <= 32'hffff_ffff - 32'(DEPTH) || unarrived >= unasked);
      if (state == 2'd2) assert (beats >= 9'd1 && beats <= 9'(MAX_BURST));
      assert (32'(claimed) == owed_q + 32'(stored) + 32'(out_valid) + (state == 2'd2 ? 32'(beats) : 32'd0));
      assert (32'(claimed) <= 32'(DEPTH));

      cover (asked && owed_q != '0);
      cover (arvalid && arlen == '0 && owed_q == '0);
      cover (32'(claimed) == 32'(DEPTH) && owed_q != '0 && out_valid && !out_ready_i);
    end
  end
  // Half of the counter's range is enough for every transfer: 16 GiB.
  always_comb assume (!cmd_words_i[31]);
endmodule
