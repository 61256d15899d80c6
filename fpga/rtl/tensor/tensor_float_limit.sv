// Limits a bfloat16 or float32 by the limit that its sign chooses. A larger value becomes the limit. NaN, which has the highest bit
// of its mantissa set here, stays.
module tensor_float_limit #(
  parameter int WIDTH = 16
) (
  input  logic [WIDTH-1:0] value_i,
  input  logic [WIDTH-1:0] low_i,
  input  logic [WIDTH-1:0] high_i,
  output logic [WIDTH-1:0] value_o
);
  wire [WIDTH-1:0] limit = value_i[WIDTH-1] ? low_i : high_i;
  wire             nan   = value_i[WIDTH-2-:9] == '1;
  assign value_o = value_i[WIDTH-2:0] > limit[WIDTH-2:0] && !nan ? limit : value_i;
endmodule
