// The inputs of 16 neighbouring positions: position p at tap k has sample p + k of the channel. The samples come
// in words of 16; from one tap to the next they move on by one.
module modulation_window (
  input  logic         clk_i,
  input  logic [127:0] word_i,
  input  logic         begin_i,    // tap 0: word_i is the channel's first word
  input  logic         refill_i,   // taps 1, 17, 33, …: word_i has the next 16 samples
  output logic [127:0] inputs_o    // one cycle later
);
  logic [127:0] inputs_q, next_q, next;
  assign next     = refill_i ? word_i : next_q;
  assign inputs_o = inputs_q;
  always_ff @(posedge clk_i) begin
    inputs_q <= begin_i ? word_i : {next[7:0], inputs_q[127:8]};
    next_q   <= {8'd0, next[127:8]};
  end
endmodule
