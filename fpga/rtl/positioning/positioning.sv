// The positioning network of [LIS], N0 → N1 (ReLU) → batch norm → N2 (ReLU) → N3 (ReLU) → N4, bit for bit as the
// int8_16 format of fpga/model/positioning_model.h. Two merged stages, each one inference deep: layer 1 + batch norm +
// layer 2, and layer 3 + layer 4. An inference starts every N1 / 2 · N0 / PARALLEL1 cycles (200).
//
// Parallelism ([LIS], table 4.4): layer 1 512 inputs × 2 outputs in 512 DSPs, layer 2 1 × 100, layer 4 1 × 1.
// Layer 3 has 13 × 1 instead of 10 × 1: three more DSPs shorten the second stage from 200 to 160 cycles.
//
// in: N0 / 8 words of 8 int8, input 0 in the low byte. out: N4 int32, two per word. load: see positioning_loader; taken
// when nothing is being computed, and it goes before inferences that wait. No input is computed before a network is
// loaded. Words wait in a double buffer: an inference starts when its last word is in.
module positioning #(
  parameter int FAMILY    = 2,  // 1: DSP48E1, 2: DSP48E2
  parameter int N0        = 1024,
  parameter int N1        = 200,
  parameter int N2        = 100,
  parameter int N3        = 20,
  parameter int N4        = 5,
  parameter int PARALLEL1 = 512,
  parameter int PARALLEL3 = 13
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] load_data_i,
  input  logic        load_valid_i,
  output logic        load_ready_o,
  input  logic [63:0] in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [63:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  localparam int PHASES   = N0 / PARALLEL1;
  localparam int ROWS1    = N1 / 2 * PHASES;
  localparam int GROUPS   = (N2 + PARALLEL3 - 1) / PARALLEL3;
  localparam int WORDS    = (PARALLEL3 + 3) / 4;
  localparam int CAPACITY = 4;
  localparam int RW1      = $clog2(ROWS1);
  localparam int IW       = $clog2(N0 / 8);
  if (GROUPS * N3 > ROWS1) $error("the second stage is slower than the first");
  if (GROUPS < N4) $error("layer 4 is slower than layer 3");
  if (N1 % 2 != 0 || N0 % 8 != 0) $error("N1 and N0 / 8 are whole and N1 is even");

  // Load
  logic        idle, loaded;
  logic [29:0] shifts;
  logic [5:1]  write;
  logic [15:0] write_row, write_word;
  logic [63:0] write_data;
  positioning_loader #(
    .SECTION_ROWS_1(ROWS1), .SECTION_WORDS_1(PARALLEL1 / 4), .SECTION_ROWS_2(N1),
    .SECTION_ROWS_3(N1), .SECTION_WORDS_3(GROUPS * WORDS),
    .SECTION_ROWS_4(N3 * GROUPS), .SECTION_WORDS_4(WORDS), .SECTION_ROWS_5(N3 * N4)
  ) loader (
    .clk_i, .rst_ni, .enable_i(idle), .load_data_i, .load_valid_i, .load_ready_o, .loaded_o(loaded),
    .shifts_o(shifts), .write_valid_o(write), .write_row_o(write_row), .write_word_o(write_word),
    .write_data_o(write_data)
  );

  // Start: a complete input, a network, room for the result.
  logic          feature_write, feature_bank, full, bank, start, finished;
  logic [IW-1:0] feature_word;
  logic          busy_q, row_last;
  logic [RW1-1:0] row_q;
  logic [2:0]    inside_q;  // inferences from start to their last word out
  positioning_input #(.WORDS(N0 / 8)) inputs (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .write_o(feature_write), .write_bank_o(feature_bank),
    .write_word_o(feature_word), .full_o(full), .bank_o(bank), .release_i(busy_q && row_last)
  );
  // Without a pause after the last row of the one before.
  assign start    = full && loaded && !load_valid_i && inside_q < 3'(CAPACITY) && (!busy_q || row_last);
  assign idle     = inside_q == '0;
  assign row_last = row_q == RW1'(ROWS1 - 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q   <= 1'b0;
      row_q    <= '0;
      inside_q <= '0;
    end else begin
      if (start) busy_q <= 1'b1;
      else if (row_last) busy_q <= 1'b0;
      if (busy_q) row_q <= row_last ? '0 : row_q + 1'b1;
      inside_q <= inside_q + 3'(start) - 3'(finished);
    end
  end

  // First stage
  logic signed [15:0] hidden1, normalised;
  logic               hidden1_valid, normalised_valid, normalised_first, normalised_last;
  dense_dual #(.FAMILY(FAMILY), .INPUTS(N0), .OUTPUTS(N1), .PARALLEL(PARALLEL1)) layer1 (
    .clk_i, .rst_ni, .shift_i(shifts[0+:6]),
    .feature_valid_i(feature_write), .feature_bank_i(feature_bank), .feature_word_i(feature_word),
    .features_i(in_data_i),
    .write_valid_i(write[1]), .write_row_i(write_row[RW1-1:0]), .write_word_i(write_word[$clog2(PARALLEL1/4)-1:0]),
    .write_data_i(write_data), .row_valid_i(busy_q), .row_i(row_q), .bank_i(bank),
    .result_o(hidden1), .result_valid_o(hidden1_valid)
  );
  batch_norm #(.FAMILY(FAMILY), .CHANNELS(N1)) norm (
    .clk_i, .rst_ni, .shift_i(shifts[6+:6]), .write_valid_i(write[2]), .write_row_i(write_row[$clog2(N1)-1:0]),
    .write_data_i(write_data), .value_i(hidden1), .value_valid_i(hidden1_valid), .result_o(normalised),
    .result_valid_o(normalised_valid), .result_first_o(normalised_first), .result_last_o(normalised_last)
  );
  logic [PARALLEL3*16-1:0] hidden2;
  logic                    hidden2_valid, hidden2_first;
  dense_broadcast #(.FAMILY(FAMILY), .INPUTS(N1), .OUTPUTS(N2), .LANES(PARALLEL3)) layer2 (
    .clk_i, .rst_ni, .shift_i(shifts[12+:6]),
    .write_valid_i(write[3]), .write_row_i(write_row[$clog2(N1)-1:0]),
    .write_word_i(write_word[$clog2(GROUPS*WORDS)-1:0]), .write_data_i(write_data),
    .value_i(normalised), .value_valid_i(normalised_valid), .value_first_i(normalised_first),
    .value_last_i(normalised_last), .results_o(hidden2), .results_valid_o(hidden2_valid),
    .results_first_o(hidden2_first)
  );

  // Second stage
  logic signed [15:0] hidden3, result;
  logic               hidden3_valid, hidden3_first, hidden3_last, result_valid;
  dense_gather #(.FAMILY(FAMILY), .OUTPUTS(N3), .LANES(PARALLEL3), .GROUPS(GROUPS)) layer3 (
    .clk_i, .rst_ni, .shift_i(shifts[18+:6]), .write_valid_i(write[4]),
    .write_row_i(write_row[$clog2(N3*GROUPS)-1:0]), .write_word_i(write_word[(WORDS>1?$clog2(WORDS):1)-1:0]),
    .write_data_i(write_data), .values_i(hidden2), .values_valid_i(hidden2_valid), .values_first_i(hidden2_first),
    .result_o(hidden3), .result_valid_o(hidden3_valid), .result_first_o(hidden3_first),
    .result_last_o(hidden3_last)
  );
  dense_serial #(.FAMILY(FAMILY), .INPUTS(N3), .OUTPUTS(N4)) layer4 (
    .clk_i, .rst_ni, .shift_i(shifts[24+:6]), .write_valid_i(write[5]),
    .write_row_i(write_row[$clog2(N3*N4)-1:0]), .write_data_i(write_data), .value_i(hidden3),
    .value_valid_i(hidden3_valid), .value_first_i(hidden3_first), .value_last_i(hidden3_last),
    .result_o(result), .result_valid_o(result_valid)
  );
  positioning_output #(.RESULTS(N4), .CAPACITY(CAPACITY)) outputs (
    .clk_i, .rst_ni, .result_i(result), .result_valid_i(result_valid), .out_data_o, .out_valid_o, .out_ready_i,
    .finished_o(finished)
  );
  logic unused_index;
  assign unused_index = ^{write_row, write_word};
endmodule
