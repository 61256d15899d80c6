// Control of the double buffer: one bank is filled with the words of an inference while the other is
// computed.
module positioning_input #(
  parameter int WORDS = 128,
  parameter int WW    = $clog2(WORDS)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          in_valid_i,
  output logic          in_ready_o,
  output logic          write_o,
  output logic          write_bank_o,
  output logic [WW-1:0] write_word_o,
  output logic          full_o,     // the bank that is computed after this cycle is complete
  output logic          bank_o,     // the bank that is being computed
  input  logic          release_i   // it has been read: on to the other one
);
  logic [1:0]    full_q;
  logic          write_bank_q, bank_q;
  logic [WW-1:0] word_q;
  logic          word_last;
  assign in_ready_o   = !full_q[write_bank_q];
  assign write_o      = in_valid_i && in_ready_o;
  assign write_bank_o = write_bank_q;
  assign write_word_o = word_q;
  assign word_last    = word_q == WW'(WORDS - 1);
  assign full_o       = full_q[release_i ? !bank_q : bank_q];
  assign bank_o       = bank_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      full_q       <= '0;
      write_bank_q <= 1'b0;
      bank_q       <= 1'b0;
      word_q       <= '0;
    end else begin
      if (write_o) begin
        word_q <= word_last ? '0 : word_q + 1'b1;
        if (word_last) begin
          write_bank_q         <= !write_bank_q;
          full_q[write_bank_q] <= 1'b1;
        end
      end
      if (release_i) begin
        bank_q         <= !bank_q;
        full_q[bank_q] <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && release_i) released_was_full : assert (full_q[bank_q]);
  end
endmodule
