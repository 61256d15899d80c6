// Assertions on the slave's side of an AXI4 port's write channels: words are taken only after their address, each
// burst is answered once, after its last word, and the answer stays until it is taken. The host marks the word that the
// address announced as the last one. Synthesis removes it; simulation and the proofs check it.
module axi_slave_write_check (
  input logic       clk_i,
  input logic       rst_ni,
  input logic [7:0] awlen_i,
  input logic       awvalid_i,
  input logic       awready_i,
  input logic       wlast_i,
  input logic       wvalid_i,
  input logic       wready_i,
  input logic [1:0] bresp_i,
  input logic       bvalid_i,
  input logic       bready_i
);
  logic [8:0] owed_q = '0;      // words of the burst that follow
  logic       answer_q = 1'b0;  // the answer of a burst is due

  wire asked = awvalid_i & awready_i;
  wire taken = wvalid_i & wready_i;
  wire given = bvalid_i & bready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) owed_q <= '0;
    else if (asked) owed_q <= {1'b0, awlen_i} + 9'd1;
    else if (taken) owed_q <= owed_q - 9'd1;
    answer_q <= rst_ni && ((taken && wlast_i) || (answer_q && !given));

    if (rst_ni) begin
      if (asked) one_burst_at_a_time : assert (owed_q == '0 && !answer_q);
      if (taken) begin
        word_follows_its_address : assert (owed_q != '0);
        last_word_is_marked : assert (wlast_i == (owed_q == 9'd1));
      end
      burst_is_answered : assert (bvalid_i == answer_q);
    end
  end

  stream_check #(.WIDTH(2)) check_answer (
    .clk_i, .rst_ni, .data_i(bresp_i), .valid_i(bvalid_i), .ready_i(bready_i)
  );
endmodule
