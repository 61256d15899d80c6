// The reading port's rules: a burst gives the words of its addresses in order, zero and an error where nothing is, zero
// while the memory is in use; none is lost or doubled when the host waits.
module beacon_read_port_properties (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [11:0] araddr_i,
  input logic [7:0]  arlen_i,
  input logic [1:0]  arburst_i,
  input logic        arvalid_i,
  input logic        rready_i,
  input logic        enable_i,
  input logic        grant_i,
  input logic [31:0] data_i
);
  localparam int WORDS = 5;

  logic        arready, rlast, rvalid, request, refused;
  logic [31:0] rdata;
  logic [1:0]  rresp;
  logic [2:0]  word;
  beacon_read_port #(.WORDS(WORDS)) dut (
    .clk_i, .rst_ni, .axi_araddr_i(araddr_i), .axi_arlen_i(arlen_i), .axi_arburst_i(arburst_i),
    .axi_arvalid_i(arvalid_i), .axi_arready_o(arready), .axi_rdata_o(rdata), .axi_rresp_o(rresp),
    .axi_rlast_o(rlast), .axi_rvalid_o(rvalid), .axi_rready_i(rready_i), .enable_i, .grant_i,
    .request_o(request), .word_o(word), .data_i, .refused_o(refused)
  );
  (* observe = "dut.word_q" *) wire [10:0] next;
  (* observe = "dut.left_q" *) wire [7:0] left;
  (* observe = "dut.burst_q" *) wire incrementing;
  (* observe = "dut.check_port.owed_q" *) wire [8:0] owed;
  (* observe = "dut.check_port.next_q" *) wire [8:0] owed_next;

  // The address of the next word, and the word that waits for the host.
  logic [10:0] expected_q;
  logic [8:0]  todo_q;  // words of the burst that were not read yet
  logic        kind_q, waiting_q, last_q, wrong_q;
  logic [31:0] data_q;
  logic        reset_seen_q = 1'b0;
  wire         read = request && grant_i;
  wire         fits = kind_q && expected_q < 11'(WORDS);
  always_comb if (!reset_seen_q) assume (!rst_ni);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      todo_q    <= '0;
      waiting_q <= 1'b0;
    end else begin
      if (arvalid_i && arready) todo_q <= {1'b0, arlen_i} + 9'd1;
      else if (read) todo_q <= todo_q - 9'd1;
      if (read) waiting_q <= 1'b1;
      else if (rready_i) waiting_q <= 1'b0;
    end
    if (arvalid_i && arready) begin
      expected_q <= {1'b0, araddr_i[11:2]};
      kind_q     <= arburst_i == 2'b01;
    end else if (read) begin
      expected_q <= expected_q + 11'd1;
    end
    if (read) begin
      last_q  <= todo_q == 9'd1;
      wrong_q <= !fits;
      data_q  <= fits && enable_i ? data_i : '0;
    end

    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
    end else if (reset_seen_q) begin
      assert (arready == (todo_q == '0));
      assert (todo_q <= 9'd256);
      if (todo_q != '0) assert ({1'b0, left} + 9'd1 == todo_q && next == expected_q && incrementing == kind_q);
      assert (request == (todo_q != '0 && (!waiting_q || rready_i)));
      assert (refused == (read && !(fits && enable_i)));
      if (read && fits) assert ({8'd0, word} == expected_q);
      assert (rvalid == waiting_q);
      if (waiting_q) assert (rdata == data_q && rlast == last_q && rresp == {wrong_q, 1'b0});
      // What the port's own check counts.
      if (waiting_q && last_q) assert (owed == 9'd1 && owed_next == todo_q);
      else assert (owed == todo_q + 9'(waiting_q) && owed_next == '0);
      cover (rvalid && rlast && !wrong_q && arvalid_i && arready);
      cover (rvalid && rready_i && wrong_q);
    end
  end
endmodule
