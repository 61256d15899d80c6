// The batch norm folded into a scale and an offset per channel: one DSP, where [LIS] has a divider; exact to
// the golden model. One channel per cycle, in order; six cycles.
module batch_norm #(
  parameter int FAMILY   = 2,
  parameter int CHANNELS = 200,
  parameter int RW       = $clog2(CHANNELS)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [5:0]         shift_i,
  input  logic               write_valid_i,
  input  logic [RW-1:0]      write_row_i,
  input  logic [63:0]        write_data_i,  // scale 16 bits, offset 32 bits
  input  logic signed [15:0] value_i,
  input  logic               value_valid_i,
  output logic signed [15:0] result_o,
  output logic               result_valid_o,
  output logic               result_first_o,
  output logic               result_last_o
);
  localparam int DONE = 6;  // parameters 1, DSP 3, requantised 2
  logic [RW-1:0] channel_q;
  logic          last;
  assign last = channel_q == RW'(CHANNELS - 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) channel_q <= '0;
    else if (value_valid_i) channel_q <= last ? '0 : channel_q + 1'b1;
  end

  logic first;
  assign first = channel_q == '0;
  delay #(.CYCLES(DONE)) valid_delay (.clk_i, .rst_ni, .bit_i(value_valid_i), .bit_o(result_valid_o));
  delay #(.CYCLES(DONE)) first_delay (.clk_i, .rst_ni, .bit_i(value_valid_i && first), .bit_o(result_first_o));
  delay #(.CYCLES(DONE)) last_delay (.clk_i, .rst_ni, .bit_i(value_valid_i && last), .bit_o(result_last_o));

  logic [47:0]        parameters;
  logic signed [15:0] value_q;
  logic signed [31:0] offset_q, offset_qq;
  weight_memory #(.WIDTH(48), .DEPTH(CHANNELS)) channels (
    .clk_i, .write_valid_i, .write_row_i, .write_word_i(1'b0), .write_data_i,
    .row_i(channel_q), .row_o(parameters)
  );
  always_ff @(posedge clk_i) begin
    value_q   <= value_i;
    offset_q  <= signed'(parameters[47:16]);
    offset_qq <= offset_q;
  end

  // |value · scale| < 2^30 and |offset| < 2^29: the sum fits 32 bits, with room for the rounding half.
  logic signed [31:0] sum;
  mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(16), .P_WIDTH(32)) scale (
    .clk_i, .first_i(1'b0), .a_i(value_q), .b_i(parameters[15:0]), .c_i(offset_qq), .p_o(sum)
  );
  requantise #(.WIDTH(32), .RECTIFY(1'b0)) requantiser (.clk_i, .shift_i, .value_i(sum), .result_o);
endmodule
