// Layer 2: row by row of the weight matrix, one input per cycle into all OUTPUTS sums, so that it keeps pace
// with layer 1. The outputs leave rectified and requantised, LANES per cycle, in GROUPS consecutive cycles.
module dense_broadcast #(
  parameter int FAMILY  = 2,
  parameter int INPUTS  = 200,
  parameter int OUTPUTS = 100,
  parameter int LANES   = 13,
  parameter int GROUPS  = (OUTPUTS + LANES - 1) / LANES,
  parameter int WORDS   = (LANES + 3) / 4,  // of 64 bits per group and row
  parameter int RW      = $clog2(INPUTS),
  parameter int WW      = $clog2(GROUPS * WORDS)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [5:0]          shift_i,
  input  logic                write_valid_i,
  input  logic [RW-1:0]       write_row_i,
  input  logic [WW-1:0]       write_word_i,
  input  logic [63:0]         write_data_i,
  input  logic signed [15:0]  value_i,
  input  logic                value_valid_i,
  input  logic                value_first_i,
  input  logic                value_last_i,
  output logic [LANES*16-1:0] results_o,
  output logic                results_valid_o,
  output logic                results_first_o
);
  localparam int LW = WORDS > 1 ? $clog2(WORDS) : 1;
  // The requantisers' two cycles after a group is done.
  logic [GROUPS-1:0] done;
  delay #(.CYCLES(2)) first_delay (.clk_i, .rst_ni, .bit_i(done[0]), .bit_o(results_first_o));
  delay #(.CYCLES(2)) valid_delay (.clk_i, .rst_ni, .bit_i(|done), .bit_o(results_valid_o));

  logic [RW-1:0] row_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_q <= '0;
    else if (value_valid_i) row_q <= value_last_i ? '0 : row_q + 1'b1;
  end

  // Each group passes its input to the next. Its sums are read in the one cycle in which they are complete.
  logic [(GROUPS+1)*RW-1:0] rows;
  logic [(GROUPS+1)*16-1:0] values;
  logic [GROUPS:0]          firsts, lasts;
  logic [GROUPS*LANES*39-1:0] selected;
  assign rows[0+:RW]   = row_q;
  assign values[0+:16] = value_valid_i ? value_i : '0;
  assign firsts[0]     = value_first_i;
  assign lasts[0]      = value_last_i;
  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int USED = g == GROUPS - 1 ? OUTPUTS - LANES * (GROUPS - 1) : LANES;
    localparam int UW   = USED > 4 ? $clog2((USED + 3) / 4) : 1;
    logic [USED*39-1:0] sums;
    logic [WW-1:0]      word;
    assign word = write_word_i - WW'(g * WORDS);
    broadcast_group #(.FAMILY(FAMILY), .INPUTS(INPUTS), .LANES(USED)) group (
      .clk_i, .rst_ni,
      .write_valid_i(write_valid_i && 32'(write_word_i) / WORDS == g && 32'(word) < (USED + 3) / 4),
      .write_row_i, .write_word_i(UW'(LW'(word))), .write_data_i,
      .row_i(rows[RW*g+:RW]), .value_i(values[16*g+:16]), .first_i(firsts[g]), .last_i(lasts[g]),
      .row_o(rows[RW*(g+1)+:RW]), .value_o(values[16*(g+1)+:16]), .first_o(firsts[g+1]), .last_o(lasts[g+1]),
      .sums_o(sums), .done_o(done[g])
    );
    assign selected[LANES*39*g+:LANES*39] = done[g] ? (LANES * 39)'(sums) : '0;
  end
  logic unused_chain;
  assign unused_chain = ^{rows[RW*GROUPS+:RW], values[16*GROUPS+:16], firsts[GROUPS], lasts[GROUPS]};

  for (genvar l = 0; l < LANES; l++) begin : gen_lane
    logic signed [38:0] sum;
    always_comb begin
      sum = '0;
      for (int g = 0; g < GROUPS; g++) sum = sum | signed'(selected[39*(LANES*g+l)+:39]);
    end
    requantise #(.WIDTH(39)) requantiser (.clk_i, .shift_i, .value_i(sum), .result_o(results_o[16*l+:16]));
  end
endmodule
