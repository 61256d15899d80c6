// CONVOLVE in bfloat16 or float32: the matrix, the accumulators of float32 and the output stage. Addresses, weights, channel words
// and the memory of the accumulators are those of int8. Two visits of a pixel are at least nine cycles apart.
module tensor_float #(
  parameter int LANES   = 16,
  parameter int PIXELS  = 1024,
  parameter int FAMILY  = 1,
  parameter int FLOAT32 = 0,  // 0: bfloat16
  parameter int PW      = $clog2(PIXELS),
  parameter int COLUMNS = FLOAT32 != 0 ? LANES / 4 : LANES / 2
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [511:0]          command_i,
  // A vector and its marks.
  input  logic                  valid_i,
  input  logic                  first_i,         // of a tile
  input  logic                  begins_i,        // a block's first tile
  input  logic                  yields_i,        // its last one
  input  logic                  first_output_i,
  input  logic [PW-1:0]         pixel_i,
  input  logic [8*LANES-1:0]    vector_i,
  // Rows of the next tile.
  input  logic                  shift_i,
  input  logic [8*LANES-1:0]    weights_i,
  // Biases, which stay until they are taken.
  input  logic [32*COLUMNS-1:0] biases_i,
  output logic                  biases_taken_o,
  // The memory of the accumulators: what was stored comes one cycle after its pixel.
  output logic [PW-1:0]         read_pixel_o,
  input  logic [32*COLUMNS-1:0] stored_i,
  output logic                  write_o,
  output logic [PW-1:0]         pixel_o,
  output logic [32*COLUMNS-1:0] sums_o,
  // Results.
  output logic                  valid_o,
  output logic                  first_o,
  output logic                  second_o,
  output logic                  last_o,
  output logic [8*LANES-1:0]    data_o
);
  localparam int LEVELS = ($clog2(COLUMNS) + 1) / 2;
  localparam int SW     = (FLOAT32 != 0 ? 28 : 27) + $clog2(COLUMNS);
  localparam int MATRIX = FLOAT32 != 0 ? LEVELS + 6 : LEVELS + COLUMNS + 5;  // cycles
  localparam int ADD    = 7;

  logic [SW*COLUMNS-1:0] groups;
  logic [10*COLUMNS-1:0] exponents;
  logic [COLUMNS-1:0]    special;
  if (FLOAT32 != 0) begin : gen_float32_matrix
    tensor_float32_matrix #(.LANES(LANES), .FAMILY(FAMILY)) matrix (
      .clk_i, .activations_i(vector_i), .swap_i(valid_i & first_i), .shift_i, .weights_i,
      .sums_o(groups), .exponents_o(exponents), .special_o(special)
    );
  end else begin : gen_bfloat_matrix
    tensor_bfloat_matrix #(.LANES(LANES), .FAMILY(FAMILY)) matrix (
      .clk_i, .activations_i(vector_i), .swap_i(valid_i & first_i), .shift_i, .weights_i,
      .sums_o(groups), .exponents_o(exponents), .special_o(special)
    );
  end

  // Marks one cycle before the group's sums, and with the accumulators' new values.
  logic begins_next, begins_q, block_next, group_valid, yields_late, first_late, sum_valid;
  delay_line #(.WIDTH(PW + 2), .DEPTH(MATRIX - 1)) group_marks (
    .clk_i, .en_i(1'b1), .data_i({pixel_i, begins_i, begins_i & first_i}),
    .data_o({read_pixel_o, begins_next, block_next})
  );
  delay #(.CYCLES(MATRIX - 1)) group_delay (.clk_i, .rst_ni, .bit_i(valid_i), .bit_o(group_valid));
  delay_line #(.WIDTH(PW), .DEPTH(ADD + 1)) pixel_delay (
    .clk_i, .en_i(1'b1), .data_i(read_pixel_o), .data_o(pixel_o)
  );
  delay #(.CYCLES(ADD + 1)) sum_delay (.clk_i, .rst_ni, .bit_i(group_valid), .bit_o(sum_valid));
  delay_line #(.WIDTH(2), .DEPTH(MATRIX + ADD)) sum_marks (
    .clk_i, .en_i(1'b1), .data_i({yields_i, first_output_i}), .data_o({yields_late, first_late})
  );

  // A block's sums begin with its biases.
  logic [32*COLUMNS-1:0] biases_q;
  assign biases_taken_o = group_valid & block_next;
  always_ff @(posedge clk_i) begin
    begins_q <= begins_next;
    if (biases_taken_o) biases_q <= biases_i;
  end
  for (genvar c = 0; c < COLUMNS; c++) begin : gen_column
    tensor_float_add #(.SW(SW)) add (
      .clk_i, .group_i(groups[SW*c+:SW]), .exponent_i(exponents[10*c+:10]), .special_i(special[c]),
      .sum_i(begins_q ? biases_q[32*c+:32] : stored_i[32*c+:32]), .sum_o(sums_o[32*c+:32])
    );
  end
  assign write_o = sum_valid & ~yields_late;

  wire unused = &{1'b0, command_i};
  wire yields = sum_valid & yields_late;
  if (FLOAT32 != 0) begin : gen_float32_results
    tensor_float32_output #(.LANES(LANES)) results (
      .clk_i, .rst_ni, .low_i(command_i[384+:32]), .high_i(command_i[416+:32]),
      .valid_i(yields), .first_i(first_late), .sums_i(sums_o), .valid_o, .first_o, .data_o
    );
    assign second_o = 1'b0;
    assign last_o   = valid_o;
  end else begin : gen_bfloat_results
    tensor_bfloat_output #(.LANES(LANES)) results (
      .clk_i, .rst_ni, .float32_i(command_i[20]), .low_i(command_i[400+:16]), .high_i(command_i[416+:16]),
      .valid_i(yields), .first_i(first_late), .sums_i(sums_o), .valid_o, .first_o, .second_o, .last_o, .data_o
    );
  end
endmodule
