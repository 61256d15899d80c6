// The double buffer's rules: no word goes into a bank that is complete or being read, a bank is offered only
// when it is complete, and banks are offered in the order in which they were filled.
module positioning_input_properties (
  input logic clk_i,
  input logic rst_ni,
  input logic in_valid_i,
  input logic release_i
);
  localparam int WORDS = 4;

  logic       in_ready, write, write_bank, full, bank;
  logic [1:0] write_word;
  positioning_input #(.WORDS(WORDS)) dut (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o(in_ready), .write_o(write), .write_bank_o(write_bank),
    .write_word_o(write_word), .full_o(full), .bank_o(bank), .release_i
  );
  (* observe = "dut.full_q" *) wire [1:0] full_banks;

  // Counts of accepted and released words; both banks hold eight.
  logic [3:0] inside_q;
  logic       reset_seen_q = 1'b0;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
    // The block releases only a bank that it was given.
    if (!full_banks[bank]) assume (!release_i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      inside_q     <= '0;
    end else if (reset_seen_q) begin
      inside_q <= inside_q + 4'(write) - (release_i ? 4'(WORDS) : 4'd0);
      assert (inside_q <= 4'(2 * WORDS));
      assert (write == (in_valid_i && in_ready));
      assert (in_ready == (inside_q != 4'(2 * WORDS)));
      assert (full_banks[bank] == (inside_q >= 4'(WORDS)));
      assert (full_banks[!bank] == (inside_q == 4'(2 * WORDS)));
      assert (!write || !full_banks[write_bank]);
      assert (inside_q[1:0] == write_word);
      assert ((write_bank != bank) == (inside_q >= 4'(WORDS) && inside_q < 4'(2 * WORDS)));
      assert (full == (release_i ? inside_q == 4'(2 * WORDS) : inside_q >= 4'(WORDS)));
      cover (inside_q == 4'(2 * WORDS) && release_i);
      cover (write && release_i && write_word == 2'd3);
    end
  end
endmodule
