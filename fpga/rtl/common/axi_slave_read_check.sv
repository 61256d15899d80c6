// Assertions on the slave's side of an AXI4 port's read channels: exactly the words of a burst follow its address, the
// last one marked, and each stays until it is taken. Synthesis removes it; simulation and the proofs check it.
module axi_slave_read_check (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [7:0]  arlen_i,
  input logic        arvalid_i,
  input logic        arready_i,
  input logic [31:0] rdata_i,
  input logic [1:0]  rresp_i,
  input logic        rlast_i,
  input logic        rvalid_i,
  input logic        rready_i
);
  // Words that follow. The next address may be taken while the last word of a burst waits: two bursts at most.
  logic [8:0] owed_q = '0, next_q = '0;

  wire asked = arvalid_i & arready_i;
  wire given = rvalid_i & rready_i;
  wire ended = given & rlast_i;
  wire [8:0] words = {1'b0, arlen_i} + 9'd1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      owed_q <= '0;
      next_q <= '0;
    end else if (ended || owed_q == '0) begin
      owed_q <= next_q != '0 ? next_q : asked ? words : '0;
      next_q <= next_q != '0 && asked ? words : '0;
    end else begin
      if (given) owed_q <= owed_q - 9'd1;
      if (asked) next_q <= words;
    end

    if (rst_ni) begin
      if (asked) two_bursts_at_most : assert (next_q == '0);
      if (rvalid_i) begin
        word_was_asked_for : assert (owed_q != '0);
        last_word_is_marked : assert (rlast_i == (owed_q == 9'd1));
      end
    end
  end

  stream_check #(.WIDTH(35)) check_word (
    .clk_i, .rst_ni, .data_i({rdata_i, rresp_i, rlast_i}), .valid_i(rvalid_i), .ready_i(rready_i)
  );
endmodule
