// The output stage of one channel in int16: bias, shift, multiplier, zero point and limits. A sum per cycle, its result 11 cycles
// later, what the shift leaves of it 6 cycles later. fpga/model/tensor_int16.h defines the arithmetic.
module tensor_int16_lane #(
  parameter int FAMILY = 1
) (
  input  logic               clk_i,
  // Parts of the channel words that wait, each taken when the first sum of a block gets there.
  input  logic [47:0]        bias_i,
  input  logic               take_bias_i,        // with the sum
  input  logic [5:0]         shift_i,
  input  logic               take_shift_i,       // one cycle later
  input  logic [16:0]        multiplier_i,
  input  logic               take_multiplier_i,  // five
  input  logic [63:0]        sum_i,
  input  logic signed [15:0] zero_i,
  input  logic signed [15:0] low_i,
  input  logic signed [15:0] high_i,
  output logic [31:0]        shifted_o,
  output logic [15:0]        result_o
);
  // Cycles 0, 1: bias. 2 … 4: shift by sixteens, by fours and by one, a choice of four per bit. 5: rounding. There are eight
  // guard bits and one more for the rounding. Each shift keeps the bits that can reach the result, and notes whether others
  // than the sign are above them.
  logic [63:0]        sum_q, biased_q;
  logic [47:0]        bias_q;
  logic [5:0]         shift_q;
  logic [3:0]         shift_qq;
  logic [1:0]         shift_qqq;
  logic signed [72:0] wide;
  logic        [46:0] coarse;
  logic signed [47:0] coarse_q, fine;
  logic signed [35:0] fine_q, moved;
  logic signed [32:0] guarded_q, rounded;
  logic signed [31:0] shifted_q;
  logic               over, coarse_over_q, fine_over_q;
  assign wide      = {biased_q, 9'd0};
  assign rounded   = 33'(signed'(guarded_q[32:1])) + 33'(guarded_q[0]);
  assign shifted_o = shifted_q;
  always_comb begin
    unique case (shift_q[5:4])
      2'd0:    coarse = 47'(wide);
      2'd1:    coarse = 47'(wide >>> 16);
      2'd2:    coarse = 47'(wide >>> 32);
      default: coarse = 47'(wide >>> 48);
    endcase
    unique case (shift_q[5:4])
      2'd0:    over = biased_q[62:38] != {25{biased_q[63]}};
      2'd1:    over = biased_q[62:54] != {9{biased_q[63]}};
      default: over = 1'b0;
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
    biased_q <= sum_q + 64'(signed'(bias_q));

    if (take_shift_i) shift_q <= shift_i;
    shift_qq      <= shift_q[3:0];
    shift_qqq     <= shift_qq[1:0];
    coarse_q      <= {biased_q[63], coarse};
    coarse_over_q <= over;
    fine_q        <= {fine[47], fine[34:0]};
    fine_over_q   <= coarse_over_q | (fine[46:35] != {12{fine[47]}});
    if (fine_over_q || moved[34:32] != {3{moved[35]}}) guarded_q <= {moved[35], {32{~moved[35]}}};
    else guarded_q <= moved[32:0];
    shifted_q <= rounded[32] != rounded[31] ? 32'h7fffffff : rounded[31:0];
  end

  // 6 … 8: product. 9, 10: rounding. 11: zero point and limits.
  logic [16:0]        multiplier_q;
  logic signed [24:0] factor;
  logic signed [42:0] product;
  logic signed [19:0] result;
  logic signed [20:0] placed;
  assign factor = shifted_q[30:24] != {7{shifted_q[31]}} ? {shifted_q[31], {24{~shifted_q[31]}}} : shifted_q[24:0];
  always_ff @(posedge clk_i) if (take_multiplier_i) multiplier_q <= multiplier_i;
  mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(18), .P_WIDTH(43)) scale (
    .clk_i, .first_i(1'b0), .a_i(factor), .b_i({1'b0, multiplier_q}), .c_i('0), .p_o(product)
  );
  tensor_round #(.WIDTH(43), .SHIFT(24)) round (.clk_i, .value_i(product), .result_o(result));
  assign placed   = 21'(result) + 21'(zero_i);
  assign result_o = placed > 21'(high_i) ? high_i : placed < 21'(low_i) ? low_i : placed[15:0];
endmodule
