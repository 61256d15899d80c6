// value / 2^SHIFT, halves to even. Two cycles.
module tensor_round #(
  parameter int WIDTH = 34,
  parameter int SHIFT = 23,
  parameter int RW    = WIDTH - SHIFT + 1
) (
  input  logic                    clk_i,
  input  logic signed [WIDTH-1:0] value_i,
  output logic signed [RW-1:0]    result_o
);
  logic signed [RW-1:0] up_q;  // halves rounded up
  logic                 tie_q;
  logic unused;
  always_ff @(posedge clk_i) begin
    // The bit below the point is the half.
    {up_q, unused} <= (RW + 1)'(signed'(value_i[WIDTH-1:SHIFT-1])) + (RW + 1)'(1);
    tie_q          <= value_i[SHIFT-1] & (value_i[SHIFT-2:0] == '0);
    result_o       <= {up_q[RW-1:1], up_q[0] & ~tie_q};
  end
endmodule
