// The writing port's rules: a word goes into the memory only if it is whole, within the memory, granted and enabled; each
// other word that is taken is refused; each burst is answered once, with an error if a word did not fit.
module beacon_write_port_properties (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [11:0] awaddr_i,
  input logic [7:0]  awlen_i,
  input logic [1:0]  awburst_i,
  input logic        awvalid_i,
  input logic [3:0]  wstrb_i,
  input logic        wlast_i,
  input logic        wvalid_i,
  input logic        bready_i,
  input logic        enable_i,
  input logic        grant_i
);
  localparam int WORDS = 5;

  logic       awready, wready, bvalid, request, write, refused;
  logic [1:0] bresp;
  logic [2:0] word;
  beacon_write_port #(.WORDS(WORDS)) dut (
    .clk_i, .rst_ni, .axi_awaddr_i(awaddr_i), .axi_awlen_i(awlen_i), .axi_awburst_i(awburst_i),
    .axi_awvalid_i(awvalid_i), .axi_awready_o(awready), .axi_wstrb_i(wstrb_i), .axi_wlast_i(wlast_i),
    .axi_wvalid_i(wvalid_i), .axi_wready_o(wready), .axi_bresp_o(bresp), .axi_bvalid_o(bvalid),
    .axi_bready_i(bready_i), .enable_i, .grant_i, .request_o(request), .write_o(write), .word_o(word),
    .refused_o(refused)
  );
  (* observe = "dut.check_port.owed_q" *) wire [8:0] owed;
  (* observe = "dut.check_port.answer_q" *) wire answer;
  (* observe = "dut.state_q" *) wire [1:0] state;
  (* observe = "dut.word_q" *) wire [10:0] next;
  (* observe = "dut.burst_q" *) wire incrementing;
  (* observe = "dut.bad_q" *) wire bad;

  // The word that the next one taken is for, and whether one of the burst did not fit.
  logic [10:0] expected_q;
  logic        kind_q, wrong_q;
  logic        reset_seen_q = 1'b0;
  wire         fits = kind_q && expected_q < 11'(WORDS) && wstrb_i == 4'hf;
  wire         taken = wvalid_i && wready;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
    // The host marks the last word.
    if (owed != '0) assume (wlast_i == (owed == 9'd1));
  end

  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready) begin
      expected_q <= {1'b0, awaddr_i[11:2]};
      kind_q     <= awburst_i == 2'b01;
      wrong_q    <= 1'b0;
    end else if (taken) begin
      expected_q <= expected_q + 11'd1;
      wrong_q    <= wrong_q || !fits;
    end
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
    end else if (reset_seen_q) begin
      assert (state != 2'd3);
      assert (awready == (owed == '0 && !answer));
      assert (bvalid == answer && !(answer && owed != '0));
      assert (request == (wvalid_i && owed != '0));
      assert (taken == (request && grant_i));
      if (owed != '0) assert (next == expected_q && incrementing == kind_q);
      if (owed != '0 || answer) assert (bad == wrong_q);
      assert (write == (taken && fits && enable_i));
      assert (refused == (taken && !write));
      if (write) assert ({8'd0, word} == expected_q);
      if (bvalid) assert (bresp == {wrong_q, 1'b0});
      cover (write && wlast_i && word == 3'd4 && !wrong_q);
      cover (bvalid && bready_i && wrong_q);
    end
  end
endmodule
