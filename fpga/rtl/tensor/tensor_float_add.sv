// One accumulator of float32: adds the sum of a group of products and rounds once. A sum per cycle, its result 7 cycles later.
// fpga/model/tensor_float.h defines the arithmetic.
module tensor_float_add #(
  parameter int SW = 30  // at most 31
) (
  input  logic                 clk_i,
  input  logic signed [SW-1:0] group_i,
  input  logic signed [9:0]    exponent_i,  // of an accumulator with the same unit, 2^(exponent - 156)
  input  logic                 special_i,   // of an infinity or NaN: the result is NaN
  input  logic [31:0]          sum_i,
  output logic [31:0]          sum_o
);
  localparam int W = 31;  // of both addends and of the size of their sum

  // 0: which of both has the larger exponent, and by how much. A group that is behind by n is shifted once here, and then by
  // n - 1, whose bits are those of its inverted distance.
  wire [7:0]           old_exponent = sum_i[30:23];
  wire                 old_special  = old_exponent == '1;
  wire [W-1:0]         old          = {1'b0, old_exponent != '0, old_exponent != '0 ? sum_i[22:0] : 23'd0, 6'd0};
  wire signed [W-1:0]  group        = W'(group_i);
  wire signed [W-1:0]  group_half   = group >>> 1;
  wire signed [9:0]    ahead        = exponent_i - 10'(old_exponent);
  wire                 group_leads  = ~ahead[9];
  wire [8:0]           distance     = ahead[8:0] ^ {9{ahead[9]}};
  logic [W-1:0]        lead_q, other_q;
  logic                lead_minus_q, other_minus_q;  // an accumulator to subtract
  logic                other_sign_q;                 // fills a group that is shifted
  logic signed [9:0]   exponent_q;
  logic [4:0]          shift_q;
  logic                nan_q, infinite_q, negative_q;
  always_ff @(posedge clk_i) begin
    lead_q        <= group_leads ? group : old;
    other_q       <= group_leads ? old : group_half;
    lead_minus_q  <= ~group_leads & sum_i[31];
    other_minus_q <= group_leads & sum_i[31];
    other_sign_q  <= ~group_leads & group[W-1];
    exponent_q    <= group_leads ? exponent_i : 10'(old_exponent);
    shift_q       <= distance[8:5] != '0 ? 5'd31 : distance[4:0];
    nan_q         <= special_i | (old_special & sum_i[22:0] != '0);
    infinite_q    <= old_special;
    negative_q    <= sum_i[31];
  end

  // 1: shift. 2: sum. 3: sign and size.
  logic [W-1:0]      lead_qq, shifted_q, size_q;
  logic              lead_minus_qq, shifted_minus_q, minus_q;
  logic [W+1:0]      sum;   // with the carry below its lowest bit
  logic [W:0]        sum_q;
  wire signed [W:0]  wide_other = signed'({other_sign_q, other_q});
  wire signed [W:0]  shifted    = wide_other >>> shift_q;
  wire [W:0]         lead       = {lead_qq[W-1], lead_qq} ^ {(W + 1) {lead_minus_qq}};
  wire [W:0]         other      = {shifted_q[W-1], shifted_q} ^ {(W + 1) {shifted_minus_q}};
  assign sum = {lead, 1'b1} + {other, lead_minus_qq | shifted_minus_q};
  wire               unused     = &{1'b0, shifted[W], sum[0]};
  always_ff @(posedge clk_i) begin
    lead_qq         <= lead_q;
    lead_minus_qq   <= lead_minus_q;
    shifted_q       <= shifted[W-1:0];
    shifted_minus_q <= other_minus_q;
    sum_q           <= sum[W+1:1];
    size_q          <= (sum_q[W-1:0] ^ {W{sum_q[W]}}) + W'(sum_q[W]);
    minus_q         <= sum_q[W];
  end

  // 4, 5: the highest bit moves to the top.
  logic signed [9:0] exponent_late, coarse_exponent_q, fine_exponent_q;
  logic [W-1:0]      by16, by8, coarse_q, by4, by2, fine_q;
  logic              coarse_minus_q, fine_minus_q;
  wire far16 = size_q[W-1-:16] == '0;
  wire far8  = by16[W-1-:8] == '0;
  wire far4  = coarse_q[W-1-:4] == '0;
  wire far2  = by4[W-1-:2] == '0;
  wire far1  = ~by2[W-1];
  assign by16 = far16 ? size_q << 16 : size_q;
  assign by8  = far8 ? by16 << 8 : by16;
  assign by4  = far4 ? coarse_q << 4 : coarse_q;
  assign by2  = far2 ? by4 << 2 : by4;
  delay_line #(.WIDTH(10), .DEPTH(3)) exponent_delay (
    .clk_i, .en_i(1'b1), .data_i(exponent_q), .data_o(exponent_late)
  );
  always_ff @(posedge clk_i) begin
    coarse_q          <= by8;
    coarse_minus_q    <= minus_q;
    coarse_exponent_q <= exponent_late - 10'({far16, far8, 3'd0});
    fine_q            <= far1 ? by2 << 1 : by2;
    fine_minus_q      <= coarse_minus_q;
    fine_exponent_q   <= coarse_exponent_q - 10'({far4, far2, far1});
  end

  // 6: rounding. A mantissa of ones carries into the exponent, which is one more for the highest bit at the top.
  logic               nan, infinite, negative;
  wire                half    = fine_q[W-25];
  wire                rest    = fine_q[W-26:0] != '0;
  wire                up      = half & (rest | fine_q[W-24]);
  wire signed [32:0]  rounded = {fine_exponent_q, fine_q[W-2-:23]} + {10'd1, 22'd0, up};
  wire signed [9:0]   exponent = rounded[32:23];
  delay_line #(.WIDTH(3), .DEPTH(5)) special_delay (
    .clk_i, .en_i(1'b1), .data_i({nan_q, infinite_q, negative_q}), .data_o({nan, infinite, negative})
  );
  always_ff @(posedge clk_i) begin
    if (nan) sum_o <= 32'h7fc00000;
    else if (infinite) sum_o <= {negative, 31'h7f800000};
    else if (!fine_q[W-1] || exponent < 10'sd1) sum_o <= '0;
    else if (exponent > 10'sd254) sum_o <= {fine_minus_q, 31'h7f800000};
    else sum_o <= {fine_minus_q, rounded[30:0]};
  end
endmodule
