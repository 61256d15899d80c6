// Converts an accumulator to the next layer's word: rectify, round (halves up), shift, saturate. Two cycles.
// As RoundShift and Saturate of fpga/model/fixed_point.h; shift_i is from 1 to WIDTH - 1.
module requantise #(
  parameter int WIDTH   = 39,
  parameter int RESULT  = 16,
  parameter bit RECTIFY = 1'b1
) (
  input  logic                     clk_i,
  input  logic [5:0]               shift_i,
  input  logic signed [WIDTH-1:0]  value_i,
  output logic signed [RESULT-1:0] result_o
);
  logic signed [WIDTH:0] half, rectified, rounded_q, shifted;
  assign half      = signed'((WIDTH + 1)'(1) << (shift_i - 6'd1));
  assign rectified = RECTIFY && value_i[WIDTH-1] ? '0 : (WIDTH + 1)'(value_i);
  assign shifted   = rounded_q >>> shift_i;

  // It fits if all bits above the result's sign equal that sign.
  logic fits;
  assign fits = shifted[WIDTH:RESULT-1] == {(WIDTH - RESULT + 2) {shifted[WIDTH]}};

  always_ff @(posedge clk_i) begin
    rounded_q <= rectified + half;
    result_o  <= fits ? shifted[RESULT-1:0] : {shifted[WIDTH], {(RESULT - 1) {~shifted[WIDTH]}}};
  end
endmodule
