// A signed number in fewer bits; beyond their range it becomes the nearest end.
module beacon_saturate #(
  parameter int IN_WIDTH  = 16,
  parameter int OUT_WIDTH = 11
) (
  input  logic signed [IN_WIDTH-1:0]  value_i,
  output logic signed [OUT_WIDTH-1:0] value_o
);
  logic negative, fits;
  assign negative = value_i[IN_WIDTH-1];
  assign fits     = value_i[IN_WIDTH-1:OUT_WIDTH-1] == {(IN_WIDTH - OUT_WIDTH + 1) {negative}};
  assign value_o  = fits ? value_i[OUT_WIDTH-1:0] : {negative, {(OUT_WIDTH - 1) {!negative}}};
endmodule
