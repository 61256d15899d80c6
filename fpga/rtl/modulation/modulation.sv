// Networks for modulation recognition: chains of convolutions along time, bit for bit as
// fpga/model/modulation_int8.h. One engine of COLUMNS × 16 DSPs computes two output channels per column at 16
// positions; what it computes is a program that is loaded with the weights.
//
// in: 32 words of 8 int8 samples, I 0…127 and then Q 0…127, the first in the low byte. out: 10 int32 logits, two
// per word. load: see modulation_loader; taken when nothing is being computed, and it goes before bursts that
// wait. No burst is computed before a network is loaded. A burst arrives while the one before is computed.
module modulation #(
  parameter int FAMILY  = 2,    // 1: DSP48E1, 2: DSP48E2
  parameter int COLUMNS = 12,   // 8 or 12
  parameter int ROWS    = 2048  // of weights of all columns; with 8 columns the network of [MOD] needs 2,112
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
  localparam int POSITIONS = 16;
  localparam int CHANNELS  = 2 * COLUMNS;
  localparam int SCALES    = 256;
  localparam int CAPACITY  = 2;
  localparam int RW        = $clog2(ROWS);

  // Load
  logic [1:0]  inside_q;  // bursts from start to their last word out
  logic        loaded;
  logic [1:0]  write_word;
  logic [3:1]  write;
  logic [15:0] write_row;
  logic [63:0] write_data;
  modulation_loader #(.SCALES(SCALES), .ROWS(ROWS), .WORDS(COLUMNS / 4)) loader (
    .clk_i, .rst_ni, .enable_i(inside_q == '0), .load_data_i, .load_valid_i, .load_ready_o, .loaded_o(loaded),
    .write_valid_o(write), .write_row_o(write_row), .write_word_o(write_word), .write_data_o(write_data)
  );
  logic unused_row;
  assign unused_row = ^write_row;

  // Start: a complete burst, a network, room for the logits.
  logic       sample_write, sample_bank, sample_room, sample_ready, full, bank, release_bank, start, idle, finished;
  logic [4:0] sample_word;
  positioning_input #(.WORDS(32)) inputs (
    .clk_i, .rst_ni, .in_valid_i(in_valid_i && sample_ready), .in_ready_o(sample_room), .write_o(sample_write),
    .write_bank_o(sample_bank), .write_word_o(sample_word), .full_o(full), .bank_o(bank), .release_i(release_bank)
  );
  assign in_ready_o = sample_room && sample_ready;
  assign start      = full && loaded && !load_valid_i && inside_q < 2'(CAPACITY) && idle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= '0;
    else inside_q <= inside_q + 2'(start) - 2'(finished);
  end

  // Steps
  logic          tap_begin, tap_refill, first, last, clear, done, written;
  logic [8:0]    read_address, pass_address;
  logic [RW-1:0] row;
  logic [7:0]    pass_scale;
  logic [3:0]    pass_stride, pass_sum;
  logic          pass_pool, pass_half, pass_layer, pass_logits;
  modulation_sequence #(.CHANNELS(CHANNELS), .ROWS(ROWS)) sequencer (
    .clk_i, .rst_ni, .write_valid_i(write[1]), .write_row_i(write_row[2:0]), .write_data_i(write_data),
    .start_i(start), .idle_o(idle), .bank_i(bank), .release_o(release_bank),
    .read_address_o(read_address), .begin_o(tap_begin), .refill_o(tap_refill), .row_o(row), .first_o(first),
    .last_o(last), .clear_o(clear), .done_o(done), .pass_scale_o(pass_scale), .pass_address_o(pass_address),
    .pass_stride_o(pass_stride), .pass_sum_o(pass_sum), .pass_pool_o(pass_pool), .pass_half_o(pass_half), .pass_layer_o(pass_layer),
    .pass_logits_o(pass_logits), .written_i(written)
  );

  // Step → word of the store 1 → window 1.
  logic [1:0]    result_valid;
  logic [8:0]    result_address;
  logic [127:0]  result_data, word, window;
  logic          begin_q, refill_q;
  logic [RW-1:0] row_q;
  modulation_store store (
    .clk_i, .result_valid_i(result_valid), .result_address_i(result_address), .result_data_i(result_data),
    .sample_valid_i(sample_write), .sample_ready_o(sample_ready), .sample_address_i({4'd0, sample_bank, sample_word}),
    .sample_data_i(in_data_i), .read_address_i(read_address), .read_data_o(word)
  );
  always_ff @(posedge clk_i) begin
    begin_q  <= tap_begin;
    refill_q <= tap_refill;
    row_q    <= row;
  end
  modulation_window shift (.clk_i, .word_i(word), .begin_i(begin_q), .refill_i(refill_q), .inputs_o(window));

  // Columns, each two cycles behind the one before.
  logic [COLUMNS:0]                    firsts, lasts, clears, dones;
  logic [(COLUMNS+1)*RW-1:0]           rows;
  logic [(COLUMNS+1)*POSITIONS*8-1:0]  values;
  logic [COLUMNS*POSITIONS*24-1:0]     sums;
  logic [COLUMNS-1:0]                  ready;
  delay #(.CYCLES(2)) first_delay (.clk_i, .rst_ni, .bit_i(first), .bit_o(firsts[0]));
  delay #(.CYCLES(2)) last_delay (.clk_i, .rst_ni, .bit_i(last), .bit_o(lasts[0]));
  delay #(.CYCLES(2)) clear_delay (.clk_i, .rst_ni, .bit_i(clear), .bit_o(clears[0]));
  delay #(.CYCLES(2)) done_delay (.clk_i, .rst_ni, .bit_i(done), .bit_o(dones[0]));
  assign rows[0+:RW]            = row_q;
  assign values[0+:POSITIONS*8] = window;
  for (genvar c = 0; c < COLUMNS; c++) begin : gen_column
    modulation_column #(.FAMILY(FAMILY), .ROWS(ROWS), .POSITIONS(POSITIONS)) column (
      .clk_i, .rst_ni, .write_valid_i(write[3] && 32'(write_word) == c / 4), .write_row_i(write_row[RW-1:0]),
      .write_data_i(write_data >> (16 * (c % 4))),
      .row_i(rows[RW*c+:RW]), .inputs_i(values[POSITIONS*8*c+:POSITIONS*8]), .first_i(firsts[c]), .last_i(lasts[c]),
      .clear_i(clears[c]), .done_i(dones[c]),
      .row_o(rows[RW*(c+1)+:RW]), .inputs_o(values[POSITIONS*8*(c+1)+:POSITIONS*8]), .first_o(firsts[c+1]),
      .last_o(lasts[c+1]), .clear_o(clears[c+1]), .done_o(dones[c+1]),
      .ready_o(ready[c]), .sums_o(sums[POSITIONS*24*c+:POSITIONS*24])
    );
  end
  logic unused_chain;
  assign unused_chain = ^{rows[RW*COLUMNS+:RW], values[POSITIONS*8*COLUMNS+:POSITIONS*8], firsts[COLUMNS],
                          lasts[COLUMNS], clears[COLUMNS], dones[COLUMNS], ready[COLUMNS-1:1]};

  // Results
  logic [POSITIONS*24-1:0] selected;
  logic signed [15:0]      logit;
  logic                    logit_valid;
  always_comb begin
    selected = '0;
    for (int c = 0; c < COLUMNS; c++) selected = selected | sums[POSITIONS*24*c+:POSITIONS*24];
  end
  modulation_results #(.FAMILY(FAMILY), .CHANNELS(CHANNELS), .SCALES(SCALES), .POSITIONS(POSITIONS)) results (
    .clk_i, .rst_ni, .write_valid_i(write[2]), .write_row_i(write_row[7:0]), .write_data_i(write_data),
    .start_i(ready[0]), .sums_i(selected), .pass_scale_i(pass_scale), .pass_address_i(pass_address),
    .pass_stride_i(pass_stride), .pass_sum_i(pass_sum), .pass_pool_i(pass_pool), .pass_half_i(pass_half), .pass_layer_i(pass_layer),
    .pass_logits_i(pass_logits), .result_valid_o(result_valid), .result_address_o(result_address),
    .result_data_o(result_data), .written_o(written), .logit_o(logit), .logit_valid_o(logit_valid)
  );
  positioning_output #(.RESULTS(10), .CAPACITY(CAPACITY)) outputs (
    .clk_i, .rst_ni, .result_i(logit), .result_valid_i(logit_valid), .out_data_o, .out_valid_o, .out_ready_i,
    .finished_o(finished)
  );
endmodule
