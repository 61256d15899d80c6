// The results of one unit, numbered in the order of issue; every unit reads them.
module fusion_bank #(
  parameter int DEPTH = 64,
  parameter int READS = 6
) (
  input  logic                clk_i,
  input  logic                clear_i,  // the next result is number 0
  input  logic                write_i,
  input  logic [36:0]         value_i,
  input  logic [READS*6-1:0]  index_i,
  output logic [READS*37-1:0] values_o
);
  localparam int AW = $clog2(DEPTH);
  logic [36:0]   results[DEPTH];
  logic [AW-1:0] number_q;
  always_ff @(posedge clk_i) begin
    if (clear_i) number_q <= '0;
    else if (write_i) number_q <= number_q + 1'b1;
    if (write_i) results[number_q] <= value_i;
  end
  for (genvar r = 0; r < READS; r++) begin : gen_read
    assign values_o[37*r+:37] = results[index_i[6*r+:AW]];
  end
  if (AW < 6) begin : gen_unused
    logic unused_index;
    assign unused_index = ^index_i;
  end
endmodule
