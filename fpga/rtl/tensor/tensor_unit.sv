// The tensor unit: fpga/model/tensor_unit.h in logic. A program comes as a stream of words; LOAD and STORE ask for transfers
// of the device's memory.
module tensor_unit #(
  parameter int LANES       = 16,
  parameter int ACTIVATIONS = 16384,  // vectors
  parameter int PIXELS      = 1024,
  parameter int LINE        = 512,
  parameter int KEPT        = 8192,   // words of weights that stay
  parameter int FAMILY      = 1,      // 1: DSP48E1, 2: DSP48E2
  parameter int BFLOAT16    = 0,      // 1: CONVOLVE has bfloat16, too
  parameter int INT16       = 0,      // the same
  parameter int INT32       = 0,
  parameter int FLOAT32     = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic [31:0] program_words_i,
  input  logic [63:0] input_base_i,     // bytes
  input  logic [63:0] output_base_i,
  input  logic [31:0] input_words_i,
  input  logic [31:0] output_words_i,
  output logic        done_o,
  output logic [2:0]  status_o,
  output logic [23:0] command_index_o,

  input  logic [63:0] program_data_i,
  input  logic        program_valid_i,
  output logic        program_ready_o,

  output logic        read_valid_o,
  output logic [63:0] read_base_o,
  output logic [31:0] read_words_o,
  input  logic        read_ready_i,
  input  logic [63:0] read_data_i,
  input  logic        read_data_valid_i,
  output logic        read_data_ready_o,
  output logic        write_valid_o,
  output logic [63:0] write_base_o,
  output logic [31:0] write_words_o,
  input  logic        write_ready_i,
  output logic [63:0] write_data_o,
  output logic        write_data_valid_o,
  input  logic        write_data_ready_i
);
  localparam int AW = $clog2(ACTIVATIONS);
  localparam int PW = $clog2(PIXELS);
  localparam int CW = $clog2(LINE);
  localparam int VW = 8 * LANES;
  localparam int SW = 17 + $clog2(LANES / 4);
  // From a vector to its sums in the matrix, by precision.
  localparam int MATRIX = 8 + ($clog2(LANES / 4) + 1) / 2 + LANES / 2 - 1;
  localparam int INT16_MATRIX = LANES / 2 + 4;
  localparam int INT32_MATRIX = LANES / 4 + 7;
  localparam int IW = 32 + $clog2(LANES / 2);
  localparam int WW = 64 + $clog2(LANES / 4);

  logic [511:0] command;
  logic [2:0]   check;
  logic         last, loader_valid, loader_ready, compute_start, transfer_start, abort;
  logic         loading, addressing, transferring, loader_ended, bad_weight, bad_read, bad_write;
  wire          convolve  = command[7:0] == tensor_pkg::CONVOLVE;
  wire          depthwise = command[7:0] == tensor_pkg::DEPTHWISE;
  wire [7:0]    precision = command[15:8];
  wire          bfloat    = BFLOAT16 != 0 && precision == tensor_pkg::BFLOAT16;
  wire          int16     = INT16 != 0 && precision == tensor_pkg::INT16;
  wire          int32     = INT32 != 0 && precision == tensor_pkg::INT32;
  wire          float32   = FLOAT32 != 0 && precision == tensor_pkg::FLOAT32;
  // Numbers of 32 bits have no other pad value than 0.
  wire [15:0]   pad_value = int32 | float32 ? 16'd0 : {bfloat | int16 ? command[392+:8] : command[384+:8], command[384+:8]};
  wire          kept      = command[19];

  // Places that are read, and the vectors that come from there three cycles later.
  logic          place, outside, place_first, place_last, begin_sum, yields, first_output, block_end, residual;
  logic [AW-1:0] place_address;
  logic [PW-1:0] place_pixel;
  logic [11:0]   place_column;

  logic          put_valid, result_valid, result_written;
  logic [AW-1:0] put_address, get_address, result_address;
  logic [VW-1:0] put_data, memory_data, result_data;

  tensor_control control (
    .clk_i, .rst_ni, .start_i, .program_words_i, .done_o, .status_o, .command_index_o,
    .data_i(program_data_i), .valid_i(program_valid_i), .ready_o(program_ready_o), .last_o(last),
    .loader_valid_o(loader_valid), .loader_ready_i(loader_ready), .keep_start_o(keep_start), .keep_valid_o(keep_valid),
    .command_o(command), .check_i(check), .compute_start_o(compute_start), .transfer_start_o(transfer_start),
    .abort_o(abort), .computing_i(loading | addressing), .transferring_i(transferring), .issued_i(yields),
    .written_i(result_written), .bad_address_i(bad_read | bad_write | (loader_ended & kept)),
    .bad_weight_i(bad_weight), .ended_i(loader_ended & ~kept)
  );

  tensor_check #(.LANES(LANES), .ACTIVATIONS(ACTIVATIONS), .LINE(LINE), .KEPT(KEPT), .BFLOAT16(BFLOAT16), .INT16(INT16),
    .INT32(INT32), .FLOAT32(FLOAT32)) fields (
    .clk_i, .command_i(command), .input_words_i, .output_words_i, .status_o(check)
  );

  tensor_transfer #(.LANES(LANES), .ACTIVATIONS(ACTIVATIONS)) transfer (
    .clk_i, .rst_ni, .command_i(command), .start_i(transfer_start), .busy_o(transferring), .input_base_i, .output_base_i,
    .read_valid_o, .read_base_o, .read_words_o, .read_ready_i, .read_data_i, .read_data_valid_i, .read_data_ready_o,
    .write_valid_o, .write_base_o, .write_words_o, .write_ready_i, .write_data_o, .write_data_valid_o,
    .write_data_ready_i, .put_valid_o(put_valid), .put_address_o(put_address), .put_data_o(put_data),
    .get_address_o(get_address), .get_data_i(memory_data)
  );

  logic             row_valid, tile_ready, tile_take, taps_ready, taps_take, taps_done;
  logic             channel_valid, channels_ready, channels_claim, channels_taken;
  logic [VW-1:0]    row;
  logic [9*VW-1:0]  taps;
  logic [63:0]      channel;
  logic [53*LANES-1:0] channels;
  logic             keep_start, keep_valid, kept_valid, kept_last;
  logic [63:0]      kept_data;
  tensor_kept #(.KEPT(KEPT)) kept_words (
    .clk_i, .rst_ni, .base_i(command[480+:$clog2(KEPT)]), .put_start_i(keep_start), .put_valid_i(keep_valid),
    .put_data_i(program_data_i), .get_start_i(compute_start), .data_o(kept_data), .valid_o(kept_valid),
    .ready_i(loader_ready & kept), .last_o(kept_last)
  );

  tensor_loader #(.LANES(LANES), .BFLOAT16(BFLOAT16), .INT16(INT16), .INT32(INT32), .FLOAT32(FLOAT32)) loader (
    .clk_i, .rst_ni, .command_i(command), .start_i(compute_start), .abort_i(abort), .busy_o(loading),
    .ended_o(loader_ended), .bad_weight_o(bad_weight),
    .data_i(kept ? kept_data : program_data_i), .valid_i(kept ? kept_valid : loader_valid), .last_i(kept ? kept_last : last),
    .ready_o(loader_ready),
    .row_valid_o(row_valid), .row_o(row), .tile_ready_o(tile_ready), .tile_take_i(tile_take),
    .taps_o(taps), .taps_ready_o(taps_ready), .taps_take_i(taps_take), .taps_done_i(taps_done),
    .channel_valid_o(channel_valid), .channel_o(channel), .channels_ready_o(channels_ready),
    .channels_claim_i(channels_claim), .channels_taken_i(channels_taken)
  );

  tensor_address #(.ACTIVATIONS(ACTIVATIONS), .PIXELS(PIXELS), .BFLOAT16(BFLOAT16), .INT16(INT16), .FLOAT32(FLOAT32)) addresses (
    .clk_i, .rst_ni, .command_i(command), .start_i(compute_start), .abort_i(abort), .busy_o(addressing),
    .bad_address_o(bad_read),
    .tile_ready_i(tile_ready), .tile_take_o(tile_take), .taps_ready_i(taps_ready), .taps_take_o(taps_take),
    .channels_ready_i(channels_ready), .channels_claim_o(channels_claim),
    .valid_o(place), .address_o(place_address), .outside_o(outside), .first_o(place_first), .last_o(place_last),
    .begin_sum_o(begin_sum), .output_o(yields), .first_output_o(first_output), .block_end_o(block_end),
    .pixel_o(place_pixel), .column_o(place_column), .residual_o(residual)
  );

  tensor_memory #(.WIDTH(VW), .DEPTH(ACTIVATIONS)) activations (
    .clk_i, .write_valid_i(put_valid | result_valid),
    .write_address_i(put_valid ? put_address : result_address), .write_data_i(put_valid ? put_data : result_data),
    .read_address_i(transferring ? get_address : place_address), .read_data_o(memory_data)
  );

  // The vector and its marks.
  logic          outside_late, vector_valid, vector_first, vector_last, vector_begins, vector_yields, vector_first_output;
  logic          vector_ends_block, residual_valid;
  logic [PW-1:0] vector_pixel;
  logic [CW-1:0] next_column, vector_column;
  logic [VW-1:0] vector_q, residual_q;
  delay_line #(.WIDTH(1), .DEPTH(2)) late_outside (.clk_i, .en_i(1'b1), .data_i(outside), .data_o(outside_late));
  delay_line #(.WIDTH(PW + 5), .DEPTH(3)) late_marks (
    .clk_i, .en_i(1'b1), .data_i({place_first, place_last, begin_sum, first_output, block_end, place_pixel}),
    .data_o({vector_first, vector_last, vector_begins, vector_first_output, vector_ends_block, vector_pixel})
  );
  delay_line #(.WIDTH(CW), .DEPTH(2)) late_column (
    .clk_i, .en_i(1'b1), .data_i(place_column[CW-1:0]), .data_o(next_column)
  );
  delay #(.CYCLES(3)) late_place (.clk_i, .rst_ni, .bit_i(place), .bit_o(vector_valid));
  delay #(.CYCLES(3)) late_yields (.clk_i, .rst_ni, .bit_i(yields), .bit_o(vector_yields));
  delay #(.CYCLES(3)) late_residual (.clk_i, .rst_ni, .bit_i(residual), .bit_o(residual_valid));
  always_ff @(posedge clk_i) begin
    vector_q      <= outside_late ? {(LANES / 2) {pad_value}} : memory_data;
    residual_q    <= memory_data;
    vector_column <= next_column;
  end

  // Dense.
  logic [SW*LANES-1:0] products;
  logic [32*LANES-1:0] dense_sums;
  logic [PW-1:0]       dense_pixel;
  logic [PW+2:0]       dense_next_marks;
  logic                dense_valid, dense_begins, dense_yields, dense_first, dense_out, dense_out_first;
  tensor_matrix #(.LANES(LANES), .FAMILY(FAMILY)) matrix (
    .clk_i, .activations_i(vector_q), .swap_i(vector_valid & vector_first & convolve),
    .shift_i(row_valid), .weights_i(row), .sums_o(products)
  );
  tensor_dense_marks #(
    .WIDTH(PW + 3), .MATRIX(MATRIX), .INT16(INT16), .INT32(INT32), .INT16_MATRIX(INT16_MATRIX), .INT32_MATRIX(INT32_MATRIX)
  ) dense_marks (
    .clk_i, .rst_ni, .int16_i(int16), .int32_i(int32), .valid_i(vector_valid & convolve & ~bfloat & ~float32),
    .marks_i({vector_pixel, vector_begins, vector_yields, vector_first_output}), .next_marks_o(dense_next_marks),
    .valid_o(dense_valid), .marks_o({dense_pixel, dense_begins, dense_yields, dense_first})
  );
  always_ff @(posedge clk_i) begin
    dense_out       <= rst_ni & dense_valid & dense_yields;
    dense_out_first <= dense_first;
  end
  tensor_accumulator #(.LANES(LANES), .PIXELS(PIXELS), .SW(SW), .INT16(INT16), .INT32(INT32)) accumulator (
    .clk_i, .read_pixel_i(dense_next_marks[PW+2:3]), .valid_i(dense_valid), .first_i(dense_begins), .last_i(dense_yields),
    .pixel_i(dense_pixel), .sums_i(products), .int16_i(int16), .int16_sums_i(int16_products),
    .int32_i(int32), .int32_sums_i(int32_products), .sums_o(dense_sums),
    .float_i(bfloat | float32), .float_read_pixel_i(float32 ? float32_read_pixel : bfloat_read_pixel),
    .float_stored_o(float_stored), .float_write_i(bfloat_write | float32_write),
    .float_pixel_i(float32 ? float32_pixel : bfloat_pixel),
    .float_sums_i(float32 ? {bfloat_sums[16*LANES-1:8*LANES], float32_sums} : bfloat_sums)
  );

  // Dense in bfloat16.
  logic [PW-1:0]       bfloat_read_pixel, bfloat_pixel;
  logic [16*LANES-1:0] float_biases, float_stored, bfloat_sums;
  logic [VW-1:0]       bfloat_data;
  logic                bfloat_taken, bfloat_write, bfloat_valid, bfloat_first, bfloat_second, bfloat_last;
  if (BFLOAT16 != 0) begin : gen_bfloat
    tensor_float #(.LANES(LANES), .PIXELS(PIXELS), .FAMILY(FAMILY)) dense (
      .clk_i, .rst_ni, .command_i(command), .valid_i(vector_valid & bfloat), .first_i(vector_first),
      .begins_i(vector_begins), .yields_i(vector_yields), .first_output_i(vector_first_output), .pixel_i(vector_pixel),
      .vector_i(vector_q), .shift_i(row_valid), .weights_i(row), .biases_i(float_biases), .biases_taken_o(bfloat_taken),
      .read_pixel_o(bfloat_read_pixel), .stored_i(float_stored), .write_o(bfloat_write), .pixel_o(bfloat_pixel),
      .sums_o(bfloat_sums), .valid_o(bfloat_valid), .first_o(bfloat_first), .second_o(bfloat_second),
      .last_o(bfloat_last), .data_o(bfloat_data)
    );
  end else begin : gen_no_bfloat
    assign {bfloat_read_pixel, bfloat_pixel, bfloat_sums, bfloat_data} = '0;
    assign {bfloat_taken, bfloat_write, bfloat_valid, bfloat_first, bfloat_second, bfloat_last} = '0;
  end

  // Dense in float32.
  logic [PW-1:0]       float32_read_pixel, float32_pixel;
  logic [8*LANES-1:0]  float32_sums;
  logic [VW-1:0]       float32_data;
  logic                float32_taken, float32_write, float32_valid, float32_first, float32_second, float32_last;
  if (FLOAT32 != 0) begin : gen_float32
    tensor_float #(.LANES(LANES), .PIXELS(PIXELS), .FAMILY(FAMILY), .FLOAT32(1)) dense (
      .clk_i, .rst_ni, .command_i(command), .valid_i(vector_valid & float32), .first_i(vector_first),
      .begins_i(vector_begins), .yields_i(vector_yields), .first_output_i(vector_first_output), .pixel_i(vector_pixel),
      .vector_i(vector_q), .shift_i(row_valid), .weights_i(row), .biases_i(float_biases[16*LANES-1:8*LANES]),
      .biases_taken_o(float32_taken), .read_pixel_o(float32_read_pixel), .stored_i(float_stored[8*LANES-1:0]),
      .write_o(float32_write), .pixel_o(float32_pixel), .sums_o(float32_sums), .valid_o(float32_valid),
      .first_o(float32_first), .second_o(float32_second), .last_o(float32_last), .data_o(float32_data)
    );
  end else begin : gen_no_float32
    assign {float32_read_pixel, float32_pixel, float32_sums, float32_data} = '0;
    assign {float32_taken, float32_write, float32_valid, float32_first, float32_second, float32_last} = '0;
  end
  // Channel words enter at the last lane: those of bfloat16 fill the upper half of the lanes, those of float32 a quarter.
  for (genvar c = 0; c < LANES / 2; c++) begin : gen_bias
    assign float_biases[32*c+:32] = channels[53*(c+LANES/2)+:32];
  end
  wire unused_floats = &{1'b0, float_biases, float_stored};

  // Dense in int16.
  logic [IW*LANES/2-1:0] int16_products;
  logic [VW-1:0]         int16_data;
  logic                  int16_taken, int16_valid, int16_first, int16_second, int16_last;
  if (INT16 != 0) begin : gen_int16
    tensor_int16 #(.LANES(LANES), .FAMILY(FAMILY)) dense (
      .clk_i, .rst_ni, .command_i(command), .vector_i(vector_q), .swap_i(vector_valid & vector_first & int16),
      .shift_i(row_valid), .weights_i(row), .products_o(int16_products),
      .channels_i(channels), .channels_taken_o(int16_taken),
      .valid_i(sums_valid_q & int16), .first_i(sums_first_q), .sums_i(sums_q),
      .valid_o(int16_valid), .first_o(int16_first), .second_o(int16_second), .last_o(int16_last), .data_o(int16_data)
    );
  end else begin : gen_no_int16
    assign {int16_products, int16_data} = '0;
    assign {int16_taken, int16_valid, int16_first, int16_second, int16_last} = '0;
  end

  // Dense in int32.
  logic [WW*LANES/4-1:0] int32_products;
  logic [VW-1:0]         int32_data;
  logic                  int32_taken, int32_valid, int32_first;
  if (INT32 != 0) begin : gen_int32
    tensor_int32 #(.LANES(LANES), .FAMILY(FAMILY)) dense (
      .clk_i, .rst_ni, .command_i(command), .vector_i(vector_q), .swap_i(vector_valid & vector_first & int32),
      .shift_i(row_valid), .weights_i(row), .products_o(int32_products),
      .channels_i(channels), .channels_taken_o(int32_taken),
      .valid_i(sums_valid_q & int32), .first_i(sums_first_q), .sums_i(sums_q),
      .valid_o(int32_valid), .first_o(int32_first), .data_o(int32_data)
    );
  end else begin : gen_no_int32
    assign {int32_products, int32_data} = '0;
    assign {int32_taken, int32_valid, int32_first} = '0;
  end

  // Depthwise.
  logic [20*LANES-1:0] depthwise_sums;
  logic                depthwise_out, depthwise_first;
  tensor_depthwise #(.LANES(LANES), .LINE(LINE)) taps_unit (
    .clk_i, .rst_ni, .next_column_i(next_column), .column_i(vector_column), .valid_i(vector_valid & depthwise),
    .output_i(vector_yields), .first_i(vector_first_output), .vector_i(vector_q), .taps_i(taps),
    .valid_o(depthwise_out), .first_o(depthwise_first), .sums_o(depthwise_sums)
  );
  delay #(.CYCLES(2)) late_taps (
    .clk_i, .rst_ni, .bit_i(vector_valid & depthwise & vector_ends_block), .bit_o(taps_done)
  );

  // Pools.
  logic [24*LANES-1:0] pool_results;
  logic                pool_out, pool_first;
  tensor_pool #(.LANES(LANES)) pool (
    .clk_i, .rst_ni, .sum_i(command[7:0] == tensor_pkg::SUM_POOL), .valid_i(vector_valid & ~convolve & ~depthwise),
    .first_i(vector_first), .output_i(vector_yields), .first_output_i(vector_first_output), .vector_i(vector_q),
    .valid_o(pool_out), .first_o(pool_first), .results_o(pool_results)
  );

  // Only one command is under way, so only one of them delivers.
  logic [32*LANES-1:0] sums_q;
  logic                sums_valid_q, sums_first_q;
  wire unused = &{1'b0, vector_last, place_column, channels, dense_next_marks};
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < LANES; i++) begin
      sums_q[32*i+:32] <= convolve ? dense_sums[32*i+:32]
        : depthwise ? 32'(signed'(depthwise_sums[20*i+:20])) : 32'(signed'(pool_results[24*i+:24]));
    end
    sums_valid_q <= rst_ni & (dense_out | depthwise_out | pool_out);
    sums_first_q <= convolve ? dense_out_first : depthwise ? depthwise_first : pool_first;
  end

  tensor_output #(.LANES(LANES), .ACTIVATIONS(ACTIVATIONS), .TWO_PLANES(BFLOAT16 | INT16)) results (
    .clk_i, .rst_ni, .command_i(command), .start_i(compute_start), .bad_address_o(bad_write),
    .channel_valid_i(channel_valid), .channel_i(channel), .channels_taken_o(channels_taken),
    .residual_valid_i(residual_valid), .residual_i(residual_q),
    .valid_i(sums_valid_q & ~int16 & ~int32), .first_i(sums_first_q), .sums_i(sums_q),
    .channels_o(channels), .other_taken_i(bfloat_taken | float32_taken | int16_taken | int32_taken),
    .other_valid_i(bfloat_valid | float32_valid | int16_valid | int32_valid),
    .other_first_i(bfloat_first | float32_first | int16_first | int32_first),
    .other_second_i(bfloat_second | float32_second | int16_second),
    .other_last_i(bfloat_last | float32_last | int16_last | int32_valid),
    .other_data_i(int16 ? int16_data : int32 ? int32_data : float32 ? float32_data : bfloat_data),
    .written_o(result_written),
    .write_valid_o(result_valid), .write_address_o(result_address), .write_data_o(result_data)
  );
endmodule
