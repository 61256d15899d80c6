// Two output channels at POSITIONS neighbouring positions: one lane per position, all with the same weights.
// Everything moves on to the next column two cycles later, so the columns finish one after another and a
// single set of requantisers serves all of them.
module modulation_column #(
  parameter int FAMILY    = 2,
  parameter int ROWS      = 2112,
  parameter int POSITIONS = 16,
  parameter int RW        = $clog2(ROWS)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  // Bits 7…0 of a row: the weight of the lower channel. 15…8: that of the upper one, less one where the lower
  // one is negative, so that joining them needs no logic.
  input  logic                    write_valid_i,
  input  logic [RW-1:0]           write_row_i,
  input  logic [63:0]             write_data_i,  // bits 15…0
  // A step: one input per position.
  input  logic [RW-1:0]           row_i,         // one cycle before the step
  input  logic [POSITIONS*8-1:0]  inputs_i,
  input  logic                    first_i,       // the first step of a quad
  input  logic                    last_i,        // the last step of a quad
  input  logic                    clear_i,       // with last_i: it is the first quad of the sums
  input  logic                    done_i,        // with last_i: it is the last quad of the sums
  output logic [RW-1:0]           row_o,
  output logic [POSITIONS*8-1:0]  inputs_o,
  output logic                    first_o,
  output logic                    last_o,
  output logic                    clear_o,
  output logic                    done_o,
  // The sums of the lower channel, then of the upper one; zero in every other cycle.
  output logic                    ready_o,       // one cycle before the lower channel's
  output logic [POSITIONS*24-1:0] sums_o
);
  logic [15:0] weights;
  logic [24:0] joined;
  weight_memory #(.WIDTH(16), .DEPTH(ROWS)) parameters (
    .clk_i, .write_valid_i, .write_row_i, .write_word_i(1'b0), .write_data_i, .row_i, .row_o(weights)
  );
  assign joined = {weights[15:8], {9{weights[7]}}, weights[7:0]};

  // The lane's cycles, counted from the step: the fields are added in cycles 4 and 5.
  logic first, low, high, clear_low, clear_high, done_low, done_high, first_sum_q, second_sum_q;
  delay #(.CYCLES(2)) first_delay (.clk_i, .rst_ni, .bit_i(first_i), .bit_o(first));
  delay #(.CYCLES(4)) low_delay (.clk_i, .rst_ni, .bit_i(last_i), .bit_o(low));
  delay #(.CYCLES(1)) high_delay (.clk_i, .rst_ni, .bit_i(low), .bit_o(high));
  delay #(.CYCLES(4)) clear_low_delay (.clk_i, .rst_ni, .bit_i(clear_i), .bit_o(clear_low));
  delay #(.CYCLES(1)) clear_high_delay (.clk_i, .rst_ni, .bit_i(clear_low), .bit_o(clear_high));
  delay #(.CYCLES(4)) done_low_delay (.clk_i, .rst_ni, .bit_i(done_i), .bit_o(done_low));
  delay #(.CYCLES(1)) done_high_delay (.clk_i, .rst_ni, .bit_i(done_low), .bit_o(done_high));
  assign ready_o = low && done_low;
  always_ff @(posedge clk_i) begin
    first_sum_q  <= ready_o;
    second_sum_q <= high && done_high;
  end

  for (genvar p = 0; p < POSITIONS; p++) begin : gen_lane
    logic signed [23:0] sum;
    modulation_lane #(.FAMILY(FAMILY)) lane (
      .clk_i, .weights_i(joined), .input_i(inputs_i[8*p+:8]), .first_i(first), .high_i(low),
      .add_i(low || high), .clear_i(low ? clear_low : clear_high), .sum_o(sum)
    );
    assign sums_o[24*p+:24] = first_sum_q || second_sum_q ? sum : '0;
  end

  logic [RW-1:0]          row_q;
  logic [POSITIONS*8-1:0] inputs_q;
  always_ff @(posedge clk_i) begin
    row_q    <= row_i;
    row_o    <= row_q;
    inputs_q <= inputs_i;
    inputs_o <= inputs_q;
  end
  delay #(.CYCLES(2)) next_first (.clk_i, .rst_ni, .bit_i(first_i), .bit_o(first_o));
  delay #(.CYCLES(2)) next_last (.clk_i, .rst_ni, .bit_i(last_i), .bit_o(last_o));
  delay #(.CYCLES(2)) next_clear (.clk_i, .rst_ni, .bit_i(clear_i), .bit_o(clear_o));
  delay #(.CYCLES(2)) next_done (.clk_i, .rst_ni, .bit_i(done_i), .bit_o(done_o));
endmodule
