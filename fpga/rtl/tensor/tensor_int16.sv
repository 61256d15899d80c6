// CONVOLVE in int16: the matrix and the output stage. Addresses, weights, channel words and the accumulators between the two are
// those of int8.
module tensor_int16 #(
  parameter int LANES  = 16,
  parameter int FAMILY = 1,
  parameter int SW     = 32 + $clog2(LANES / 2)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [511:0]          command_i,
  input  logic [8*LANES-1:0]    vector_i,
  input  logic                  swap_i,      // the waiting weights begin with this vector
  // Rows of the next tile.
  input  logic                  shift_i,
  input  logic [8*LANES-1:0]    weights_i,
  // LANES / 2 + 4 cycles behind the vector.
  output logic [SW*LANES/2-1:0] products_o,
  // Channel words, which stay until they are taken.
  input  logic [53*LANES-1:0]   channels_i,
  output logic                  channels_taken_o,
  // Sums of a block's last tile.
  input  logic                  valid_i,
  input  logic                  first_i,
  input  logic [32*LANES-1:0]   sums_i,
  // Results.
  output logic                  valid_o,
  output logic                  first_o,
  output logic                  second_o,
  output logic                  last_o,
  output logic [8*LANES-1:0]    data_o
);
  tensor_int16_matrix #(.ROWS(LANES / 2), .FAMILY(FAMILY)) matrix (
    .clk_i, .activations_i(vector_i), .swap_i, .shift_i, .weights_i, .sums_o(products_o)
  );
  wire unused = &{1'b0, command_i};
  tensor_int16_output #(.LANES(LANES), .FAMILY(FAMILY)) results (
    .clk_i, .rst_ni, .int32_i(command_i[16+4]), .zero_i(command_i[400+:16]), .low_i(command_i[416+:16]),
    .high_i(command_i[432+:16]), .channels_i, .channels_taken_o, .valid_i, .first_i, .sums_i,
    .valid_o, .first_o, .second_o, .last_o, .data_o
  );
endmodule
