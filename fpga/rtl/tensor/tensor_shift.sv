// The first half of an output stage for wide sums: bias, shift and rounding. A sum per cycle; six cycles later
// (sum + bias) · 2^8 / 2^shift, halves rounded up, saturated to RESULT bits.
module tensor_shift #(
  parameter int SUM    = 64,
  parameter int BIAS   = 48,
  parameter int RESULT = 32
) (
  input  logic              clk_i,
  // Parts of the channel words that wait, each taken when the first sum of a block gets there.
  input  logic [BIAS-1:0]   bias_i,
  input  logic              take_bias_i,   // with the sum
  input  logic [5:0]        shift_i,
  input  logic              take_shift_i,  // one cycle later
  input  logic [SUM-1:0]    sum_i,
  output logic [RESULT-1:0] result_o
);
  // Cycles 0, 1: bias. 2 … 4: shift by sixteens, by fours and by one, a choice of four per bit. 5: rounding. There are eight
  // guard bits and one more for the rounding. Each shift keeps the bits that can reach the result, and notes whether others
  // than the sign are above them.
  localparam int WIDE   = SUM + 9;
  localparam int LAST   = RESULT + 1;
  localparam int FINE   = LAST + 3;
  localparam int COARSE = FINE + 12;

  logic [SUM-1:0]           sum_q, biased_q;
  logic [BIAS-1:0]          bias_q;
  logic [5:0]               shift_q;
  logic [3:0]               shift_qq;
  logic [1:0]               shift_qqq;
  logic signed [WIDE-1:0]   wide;
  logic        [COARSE-2:0] coarse;
  logic signed [COARSE-1:0] coarse_q, fine;
  logic signed [FINE-1:0]   fine_q, moved;
  logic signed [LAST-1:0]   guarded_q, rounded;
  logic [3:0]               over;
  logic                     coarse_over_q, fine_over_q;
  assign wide    = {biased_q, 9'd0};
  assign rounded = LAST'(signed'(guarded_q[LAST-1:1])) + LAST'(guarded_q[0]);
  for (genvar s = 0; s < 4; s++) begin : gen_over
    localparam int LOWEST = COARSE - 1 + 16 * s;
    if (LOWEST < WIDE - 1) begin : gen_bits
      assign over[s] = wide[WIDE-2:LOWEST] != {(WIDE - 1 - LOWEST) {wide[WIDE-1]}};
    end else begin : gen_none
      assign over[s] = 1'b0;
    end
  end
  always_comb begin
    unique case (shift_q[5:4])
      2'd0:    coarse = (COARSE - 1)'(wide);
      2'd1:    coarse = (COARSE - 1)'(wide >>> 16);
      2'd2:    coarse = (COARSE - 1)'(wide >>> 32);
      default: coarse = (COARSE - 1)'(wide >>> 48);
    endcase
    unique case (shift_qq[3:2])
      2'd0:    fine = coarse_q;
      2'd1:    fine = coarse_q >>> 4;
      2'd2:    fine = coarse_q >>> 8;
      default: fine = coarse_q >>> 12;
    endcase
    unique case (shift_qqq)
      2'd0:    moved = fine_q;
      2'd1:    moved = fine_q >>> 1;
      2'd2:    moved = fine_q >>> 2;
      default: moved = fine_q >>> 3;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (take_bias_i) bias_q <= bias_i;
    sum_q    <= sum_i;
    biased_q <= sum_q + SUM'(signed'(bias_q));

    if (take_shift_i) shift_q <= shift_i;
    shift_qq      <= shift_q[3:0];
    shift_qqq     <= shift_qq[1:0];
    coarse_q      <= {wide[WIDE-1], coarse};
    coarse_over_q <= over[shift_q[5:4]];
    fine_q        <= {fine[COARSE-1], fine[FINE-2:0]};
    fine_over_q   <= coarse_over_q | (fine[COARSE-2:FINE-1] != {12{fine[COARSE-1]}});
    if (fine_over_q || moved[FINE-2:LAST-1] != {3{moved[FINE-1]}}) guarded_q <= {moved[FINE-1], {(LAST - 1) {~moved[FINE-1]}}};
    else guarded_q <= moved[LAST-1:0];
    result_o <= rounded[LAST-1] != rounded[LAST-2] ? {1'b0, {(RESULT - 1) {1'b1}}} : rounded[RESULT-1:0];
  end
endmodule
