// Delays one control bit by CYCLES; low after reset.
module delay #(
  parameter int CYCLES = 2  // at least 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic bit_i,
  output logic bit_o
);
  logic [CYCLES-1:0] bits_q;
  assign bit_o = bits_q[CYCLES-1];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) bits_q <= '0;
    else bits_q <= CYCLES'({bits_q, bit_i});
  end
endmodule
