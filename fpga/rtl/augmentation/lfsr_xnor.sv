// Maximal-length shift register with XNOR feedback, two shifts per step (see fpga/model/augmentation.h). Reset clears
// it; the seed of all ones, in which it would stay, counts as zero.
module lfsr_xnor #(
  parameter int BITS = 9,
  parameter int TAP  = 5  // XAPP 052: 9,5 · 10,7 · 11,9
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [BITS-1:0] seed_i,
  input  logic            load_i,
  input  logic            step_i,
  output logic [1:0]      value_o
);
  logic [BITS-1:0] state_q;
  assign value_o = state_q[1:0];

  // The two bits shifted in depend on state bits only: TAP and BITS are both above 1.
  logic first, second;
  assign first  = ~(state_q[BITS-1] ^ state_q[TAP-1]);
  assign second = ~(state_q[BITS-2] ^ state_q[TAP-2]);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= '0;
    else if (load_i) state_q <= (&seed_i) ? '0 : seed_i;
    else if (step_i) state_q <= {state_q[BITS-3:0], first, second};
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) never_locks : assert (!(&state_q));
  end
endmodule
