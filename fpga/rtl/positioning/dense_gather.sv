// Layer 3: column by column of the weight matrix, LANES inputs of one output per cycle, so that an output is
// ready every GROUPS cycles. The inputs arrive in GROUPS consecutive cycles and are read once per output; the
// first output follows at once. Rectified and requantised.
module dense_gather #(
  parameter int FAMILY  = 2,
  parameter int OUTPUTS = 20,
  parameter int LANES   = 13,
  parameter int GROUPS  = 8,
  parameter int ROWS    = OUTPUTS * GROUPS,
  parameter int WORDS   = (LANES + 3) / 4,
  parameter int RW      = $clog2(ROWS),
  parameter int WW      = WORDS > 1 ? $clog2(WORDS) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [5:0]          shift_i,
  input  logic                write_valid_i,
  input  logic [RW-1:0]       write_row_i,
  input  logic [WW-1:0]       write_word_i,
  input  logic [63:0]         write_data_i,
  input  logic [LANES*16-1:0] values_i,
  input  logic                values_valid_i,
  input  logic                values_first_i,
  output logic signed [15:0]  result_o,
  output logic                result_valid_o,
  output logic                result_first_o,
  output logic                result_last_o
);
  localparam int GW     = $clog2(GROUPS);
  localparam int LEVELS = $clog2(LANES);
  // Row → weights 1 → DSP 3 → tree → requantised 2.
  localparam int DONE = 4 + (LEVELS + 1) / 2 + 2;
  if (GROUPS < 2) $error("layer 3 needs more than one group");

  logic          busy_q;
  logic [RW-1:0] row_q;
  logic [GW-1:0] group_q, group_qq, write_group_q;
  logic          group_last, row_last;
  assign group_last = group_q == GW'(GROUPS - 1);
  assign row_last   = row_q == RW'(ROWS - 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      row_q   <= '0;
      group_q <= '0;
    end else begin
      if (values_first_i) busy_q <= 1'b1;
      else if (row_last) busy_q <= 1'b0;
      if (busy_q) begin
        row_q   <= row_last ? '0 : row_q + 1'b1;
        group_q <= group_last ? '0 : group_q + 1'b1;
      end
    end
  end

  logic [LANES*16-1:0] value_memory[GROUPS];
  logic [LANES*16-1:0] values;
  assign values = value_memory[group_qq];
  always_ff @(posedge clk_i) begin
    group_qq      <= group_q;
    write_group_q <= values_first_i ? GW'(1) : write_group_q + 1'b1;
    if (values_valid_i) value_memory[values_first_i ? '0 : write_group_q] <= values_i;
  end

  logic clear, output_first;
  assign output_first = row_q == RW'(GROUPS - 1);
  delay #(.CYCLES(3)) clear_delay (.clk_i, .rst_ni, .bit_i(busy_q && group_q == '0), .bit_o(clear));
  delay #(.CYCLES(DONE)) valid_delay (.clk_i, .rst_ni, .bit_i(busy_q && group_last), .bit_o(result_valid_o));
  delay #(.CYCLES(DONE)) first_delay (.clk_i, .rst_ni, .bit_i(busy_q && output_first), .bit_o(result_first_o));
  delay #(.CYCLES(DONE)) last_delay (.clk_i, .rst_ni, .bit_i(busy_q && row_last), .bit_o(result_last_o));

  logic [LANES*16-1:0] weights;
  weight_memory #(.WIDTH(16 * LANES), .DEPTH(ROWS)) parameters (
    .clk_i, .write_valid_i, .write_row_i, .write_word_i, .write_data_i, .row_i(row_q), .row_o(weights)
  );
  logic [LANES*39-1:0] sums;
  for (genvar l = 0; l < LANES; l++) begin : gen_lane
    mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(16), .P_WIDTH(39), .ACCUMULATE(1'b1)) lane (
      .clk_i, .first_i(clear), .a_i(weights[16*l+:16]), .b_i(values[16*l+:16]), .c_i('0),
      .p_o(sums[39*l+:39])
    );
  end

  logic signed [38+LEVELS:0] sum;
  adder_tree #(.LEAVES(LANES), .WIDTH(39)) tree (.clk_i, .leaves_i(sums), .sum_o(sum));
  requantise #(.WIDTH(39)) requantiser (.clk_i, .shift_i, .value_i(sum[38:0]), .result_o);
  if (LEVELS > 0) begin : gen_unused
    // The golden model's bound holds for the whole sum: the bits above are copies of the sign.
    logic unused_sum;
    assign unused_sum = ^sum[38+LEVELS:39];
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && values_first_i) not_overrun : assert (!busy_q || row_last);
  end
endmodule
