// The output stage of one lane: bias, shift, multiplier, zero point and limits, then the residual. A sum per cycle, its result
// 23 cycles later. fpga/model/tensor_program.h defines the arithmetic.
module tensor_lane (
  input  logic               clk_i,
  input  logic [52:0]        channel_i,      // {shift, multiplier, bias}, waiting
  // Each part takes the waiting value when the first sum of a block gets there.
  input  logic               take_bias_i,    // with the sum
  input  logic               take_shift_i,   // one cycle later
  input  logic               take_multiplier_i,  // six
  input  logic [31:0]        sum_i,
  // Fields of the command.
  input  logic [7:0]         zero_i,
  input  logic [7:0]         low_i,
  input  logic [7:0]         high_i,
  input  logic               with_residual_i,
  input  logic [7:0]         residual_zero_i,
  input  logic [7:0]         sum_zero_i,
  input  logic [7:0]         sum_low_i,
  input  logic [7:0]         sum_high_i,
  input  logic signed [16:0] own_multiplier_i,       // positive
  input  logic signed [18:0] own_multiplier3_i,      // three times as much
  input  logic signed [16:0] residual_multiplier_i,
  input  logic signed [18:0] residual_multiplier3_i,
  input  logic [7:0]         residual_i,     // 14 cycles behind the sum
  output logic [7:0]         result_o        // 23 cycles behind the sum
);
  // value + zero within low … high.
  function automatic logic [7:0] limited(input logic signed [12:0] value, input logic signed [7:0] zero,
                                         input logic signed [7:0] low, input logic signed [7:0] high);
    logic signed [12:0] placed;
    placed = value + 13'(zero);
    limited = placed > 13'(high) ? high : placed < 13'(low) ? low : placed[7:0];
  endfunction

  // Cycles 0, 1: bias. 2 … 4: shift by eights, by twos and by one, a choice of four or two per bit. 5: rounding. 6: three
  // times the value. There is a bit more than t has, for the rounding.
  logic [31:0]        sum_q, bias_q, biased_q;
  logic [4:0]         shift_q;
  logic [2:0]         shift_qq;
  logic               shift_qqq;
  logic signed [40:0] wide, coarse, coarse_q, fine, fine_q, moved;
  logic signed [18:0] guarded_q;
  logic signed [17:0] t_q, t_qq;
  logic signed [19:0] t3_q;
  wire  signed [18:0] rounded_t = 19'(signed'(guarded_q[18:1])) + 19'(guarded_q[0]);
  assign wide = {biased_q, 9'd0};
  always_comb begin
    unique case (shift_q[4:3])
      2'd0:    coarse = wide;
      2'd1:    coarse = wide >>> 8;
      2'd2:    coarse = wide >>> 16;
      default: coarse = wide >>> 24;
    endcase
    unique case (shift_qq[2:1])
      2'd0:    fine = coarse_q;
      2'd1:    fine = coarse_q >>> 2;
      2'd2:    fine = coarse_q >>> 4;
      default: fine = coarse_q >>> 6;
    endcase
    moved = shift_qqq ? fine_q >>> 1 : fine_q;
  end
  always_ff @(posedge clk_i) begin
    if (take_bias_i) bias_q <= channel_i[31:0];
    sum_q    <= sum_i;
    biased_q <= sum_q + bias_q;

    if (take_shift_i) shift_q <= channel_i[52:48];
    shift_qq  <= shift_q[2:0];
    shift_qqq <= shift_qq[0];
    coarse_q  <= coarse;
    fine_q    <= fine;
    if (moved[40] && !(&moved[39:18])) guarded_q <= 19'sh40000;
    else if (!moved[40] && (|moved[39:18])) guarded_q <= 19'sh3ffff;
    else guarded_q <= moved[18:0];

    t_q  <= rounded_t == 19'sh20000 ? 18'sh1ffff : rounded_t[17:0];
    t_qq <= t_q;
    t3_q <= 20'(t_q) + (20'(t_q) <<< 1);
  end

  // 7 … 10: product. 11, 12: rounding. 13: zero point and limits.
  logic [15:0]        multiplier_q;
  logic signed [33:0] product;
  logic signed [11:0] rounded;
  logic [7:0]         own_q;
  always_ff @(posedge clk_i) begin
    if (take_multiplier_i) multiplier_q <= channel_i[47:32];
    own_q <= limited(13'(rounded), zero_i, low_i, high_i);
  end
  tensor_multiply #(.A_WIDTH(18), .B_WIDTH(16)) scale (
    .clk_i, .a_i(t_qq), .a3_i(t3_q), .b_i(multiplier_q), .p_o(product)
  );
  tensor_round #(.WIDTH(34), .SHIFT(23)) round (.clk_i, .value_i(product), .result_o(rounded));

  // 14: differences. 15 … 18: products. 19: sum. 20, 21: rounding. 22: zero point and limits.
  logic signed [8:0]  own_difference_q, residual_difference_q;
  logic signed [25:0] own_product, residual_product, both_q;
  logic signed [12:0] both;
  logic [7:0]         own_late;
  always_ff @(posedge clk_i) begin
    own_difference_q      <= 9'(signed'(own_q)) - 9'(signed'(zero_i));
    residual_difference_q <= 9'(signed'(residual_i)) - 9'(signed'(residual_zero_i));
    both_q                <= own_product + residual_product;
    result_o <= with_residual_i ? limited(both, sum_zero_i, sum_low_i, sum_high_i) : own_late;
  end
  tensor_multiply #(.A_WIDTH(17), .B_WIDTH(9), .B_SIGNED(1'b1)) own_part (
    .clk_i, .a_i(own_multiplier_i), .a3_i(own_multiplier3_i), .b_i(own_difference_q), .p_o(own_product)
  );
  tensor_multiply #(.A_WIDTH(17), .B_WIDTH(9), .B_SIGNED(1'b1)) residual_part (
    .clk_i, .a_i(residual_multiplier_i), .a3_i(residual_multiplier3_i), .b_i(residual_difference_q),
    .p_o(residual_product)
  );
  tensor_round #(.WIDTH(26), .SHIFT(14)) round_both (.clk_i, .value_i(both_q), .result_o(both));
  delay_line #(.WIDTH(8), .DEPTH(8)) wait_for_both (.clk_i, .en_i(1'b1), .data_i(own_q), .data_o(own_late));
endmodule
