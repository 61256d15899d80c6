// A float from a magnitude: the 24 leading bits, truncated. Value: ±magnitude · 2^scale. Combinational. A
// float is {negative, exponent[11:0] signed, significand[23:0]}, as FusionFloat of fpga/model/fusion_arithmetic.h.
module fusion_normalise #(
  parameter int WIDTH = 28  // more than 24
) (
  input  logic               negative_i,
  input  logic [WIDTH-1:0]   magnitude_i,
  input  logic signed [11:0] scale_i,
  output logic [36:0]        value_o
);
  logic signed [11:0] leading;  // position of the leading one
  always_comb begin
    leading = '0;
    for (int i = 0; i < WIDTH; i++) if (magnitude_i[i]) leading = 12'(i);
  end
  logic [WIDTH-1:0] shifted;
  assign shifted = magnitude_i << (12'(WIDTH - 1) - leading);
  logic unused_below;
  assign unused_below = ^shifted[WIDTH-25:0];

  localparam logic [36:0] ZERO = {1'b0, 12'h800, 24'd0};
  assign value_o = magnitude_i == '0 ? ZERO : {negative_i, scale_i + leading, shifted[WIDTH-1-:24]};
endmodule
