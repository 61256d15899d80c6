// The output stage in float32: a vector of sums is limited.
module tensor_float32_output #(
  parameter int LANES   = 16,
  parameter int COLUMNS = LANES / 4
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [31:0]           low_i,
  input  logic [31:0]           high_i,
  input  logic                  valid_i,
  input  logic                  first_i,  // of a block
  input  logic [32*COLUMNS-1:0] sums_i,
  // One cycle later.
  output logic                  valid_o,
  output logic                  first_o,
  output logic [8*LANES-1:0]    data_o
);
  logic [8*LANES-1:0] limited;
  for (genvar c = 0; c < COLUMNS; c++) begin : gen_column
    tensor_float_limit #(.WIDTH(32)) limiter (
      .value_i(sums_i[32*c+:32]), .low_i, .high_i, .value_o(limited[32*c+:32])
    );
  end
  always_ff @(posedge clk_i) begin
    data_o  <= limited;
    valid_o <= rst_ni & valid_i;
    first_o <= rst_ni & valid_i & first_i;
  end
endmodule
