// 1/x, 1/√x and softplus(x) + 1e-5: a table of quadratic polynomials and two DSPs. A new one every cycle, out nine
// cycles after its operand. See fpga/model/fusion_arithmetic.h.
module fusion_function #(
  parameter int FAMILY = 2
) (
  input  logic        clk_i,
  input  logic [36:0] x_i,
  input  logic [1:0]  function_i,  // 0 reciprocal, 1 reciprocal root, 2 softplus
  input  logic        pass_i,      // x itself
  output logic [36:0] value_o
);
  // 1: operand → segment and offset in the segment
  logic [36:0] x_q;
  logic [1:0]  function_q;
  logic        pass_q;
  always_ff @(posedge clk_i) {x_q, function_q, pass_q} <= {x_i, function_i, pass_i};

  logic               negative, odd, zero, softplus, beyond;
  logic signed [11:0] exponent;
  logic [22:0]        fraction;
  assign negative = x_q[36];
  assign exponent = signed'(x_q[35:24]);
  assign fraction = x_q[22:0];
  assign odd      = x_q[24];
  assign zero     = !x_q[23];
  assign softplus = function_q == 2'd2;
  assign beyond   = exponent > 12'sd4;  // |x| ≥ 32

  // |x| in units of 2^-21.
  logic [11:0] distance;
  logic [25:0] z, z_shifted;
  assign distance  = 12'd4 - x_q[35:24];
  assign z_shifted = distance < 12'd32 ? {x_q[23:0], 2'b0} >> distance[4:0] : '0;
  assign z         = beyond ? '1 : z_shifted;

  logic [9:0]         segment;
  logic [16:0]        offset;
  logic signed [11:0] scale;
  always_comb begin
    unique case (function_q)
      2'd0: begin
        segment = {2'b10, fraction[22:15]};
        offset  = {fraction[14:0], 2'b0};
        scale   = -12'sd32 - exponent;
      end
      2'd1: begin
        segment = {2'b11, odd, fraction[22:16]};
        offset  = {fraction[15:0], 1'b0};
        scale   = -12'sd32 - (exponent >>> 1);
      end
      default: begin
        {segment, offset} = {1'b0, z};
        scale             = -12'sd32;
      end
    endcase
  end

  // 2 to 5: c1 + d·c2; 5 to 8: c0 + d·(…)
  logic [75:0]        coefficients;  // c0 32 bits, c1 25, c2 19
  logic signed [17:0] offset_q;
  fusion_table table_rom (.clk_i, .address_i(segment), .data_o(coefficients));

  logic [2*25-1:0] c1_q;
  logic [5*32-1:0] c0_q;
  logic [3*18-1:0] offsets_q;
  always_ff @(posedge clk_i) begin
    offset_q  <= signed'({1'b0, offset});
    offsets_q <= {offsets_q[2*18-1:0], offset_q};
    c1_q      <= {c1_q[24:0], coefficients[43:19]};
    c0_q      <= {c0_q[4*32-1:0], coefficients[75:44]};
  end
  logic signed [42:0] slope;
  logic signed [46:0] sum;
  mac #(.FAMILY(FAMILY), .A_WIDTH(19), .B_WIDTH(18), .P_WIDTH(43)) slope_mac (
    .clk_i, .first_i(1'b0), .a_i(coefficients[18:0]), .b_i(offset_q),
    .c_i({c1_q[49], c1_q[49:25], 17'd0}), .p_o(slope)
  );
  mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(18), .P_WIDTH(47)) sum_mac (
    .clk_i, .first_i(1'b0), .a_i(slope[41:17]), .b_i(offsets_q[53:36]),
    .c_i({2'b0, c0_q[159:128], 13'd0}), .p_o(sum)
  );

  // Delayed from 1 to 9: sign, scale, the softplus's straight part, and x where it is the result.
  localparam int WAIT = 1 + 12 + 26 + 1 + 37;
  logic [8*WAIT-1:0] wait_q;
  logic              result_negative, is_x, result_negative_w, is_x_w;
  logic [36:0]       direct, x_w;
  logic [25:0]       line, line_w;
  logic signed [11:0] scale_w;
  always_comb begin
    result_negative = function_q == 2'd0 && negative;
    line            = softplus && !negative ? z : '0;
    is_x            = pass_q || zero && (!softplus || negative) || softplus && beyond && !negative;
    direct          = pass_q || !zero ? x_q : {1'b0, 12'h800, 24'd0};
  end
  always_ff @(posedge clk_i) wait_q <= {wait_q[7*WAIT-1:0], result_negative, scale, line, is_x, direct};
  logic unused_wait;
  assign {result_negative_w, scale_w, unused_wait, is_x_w, x_w} =
      {wait_q[8*WAIT-1-:13], 1'b0, wait_q[7*WAIT+:38]};
  assign line_w = wait_q[6*WAIT+38+:26];  // needed a cycle earlier

  // 9
  logic [37:0] magnitude_q, magnitude;
  logic [36:0] normalised;
  assign magnitude = {1'b0, line_w, 11'd0} + 38'(sum[46:13]);
  always_ff @(posedge clk_i) magnitude_q <= magnitude;
  fusion_normalise #(.WIDTH(38)) normalise (
    .negative_i(result_negative_w), .magnitude_i(magnitude_q), .scale_i(scale_w), .value_o(normalised)
  );
  assign value_o = is_x_w ? x_w : normalised;

  logic unused_bits;
  assign unused_bits = ^{slope[42], slope[16:0], sum[12:0], wait_q[7*WAIT+38+:26]};
endmodule
