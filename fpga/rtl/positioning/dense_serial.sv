// Layer 4: row by row of the weight matrix on one DSP: each input is multiplied with OUTPUTS weights in as
// many cycles. Inputs come no faster. The outputs leave requantised in consecutive cycles.
module dense_serial #(
  parameter int FAMILY  = 2,
  parameter int INPUTS  = 20,
  parameter int OUTPUTS = 5,
  parameter int ROWS    = INPUTS * OUTPUTS,
  parameter int RW      = $clog2(ROWS)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [5:0]         shift_i,
  input  logic               write_valid_i,
  input  logic [RW-1:0]      write_row_i,
  input  logic [63:0]        write_data_i,
  input  logic signed [15:0] value_i,
  input  logic               value_valid_i,
  input  logic               value_first_i,
  input  logic               value_last_i,
  output logic signed [15:0] result_o,
  output logic               result_valid_o
);
  localparam int KW = $clog2(OUTPUTS);
  // Row → weight 1 → DSP 3 → requantised 2.
  localparam int SUMS = 4;
  if (OUTPUTS < 2) $error("layer 4 needs more than one output");

  logic               busy_q, first_q, last_q, output_last;
  logic [RW-1:0]      row_q;
  logic [KW-1:0]      output_q;
  logic signed [15:0] value_q, value_qq;
  assign output_last = output_q == KW'(OUTPUTS - 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q   <= 1'b0;
      row_q    <= '0;
      output_q <= '0;
    end else begin
      if (value_valid_i) busy_q <= 1'b1;
      else if (output_last) busy_q <= 1'b0;
      if (busy_q) begin
        row_q    <= row_q == RW'(ROWS - 1) ? '0 : row_q + 1'b1;
        output_q <= output_last ? '0 : output_q + 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    value_qq <= value_q;
    if (value_valid_i) {value_q, first_q, last_q} <= {value_i, value_first_i, value_last_i};
  end

  logic read, read_first, write;
  delay #(.CYCLES(SUMS - 1)) read_delay (.clk_i, .rst_ni, .bit_i(busy_q), .bit_o(read));
  delay #(.CYCLES(SUMS - 1)) first_delay (.clk_i, .rst_ni, .bit_i(busy_q && first_q), .bit_o(read_first));
  delay #(.CYCLES(1)) write_delay (.clk_i, .rst_ni, .bit_i(read), .bit_o(write));
  delay #(.CYCLES(SUMS + 2)) done_delay (.clk_i, .rst_ni, .bit_i(busy_q && last_q), .bit_o(result_valid_o));

  // The sums so far take turns in the DSP's adder: read as its C one cycle before the sum is written back.
  logic signed [38:0] sums[OUTPUTS];
  logic [KW-1:0]      read_q, write_q;
  logic signed [38:0] addend, sum;
  assign addend = read_first ? '0 : sums[read_q];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q  <= '0;
      write_q <= '0;
    end else begin
      if (read) read_q <= read_q == KW'(OUTPUTS - 1) ? '0 : read_q + 1'b1;
      if (write) write_q <= write_q == KW'(OUTPUTS - 1) ? '0 : write_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) if (write) sums[write_q] <= sum;

  logic signed [15:0] weight;
  weight_memory #(.WIDTH(16), .DEPTH(ROWS)) parameters (
    .clk_i, .write_valid_i, .write_row_i, .write_word_i(1'b0), .write_data_i, .row_i(row_q), .row_o(weight)
  );
  mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(16), .P_WIDTH(39)) lane (
    .clk_i, .first_i(1'b0), .a_i(weight), .b_i(value_qq), .c_i(addend), .p_o(sum)
  );
  requantise #(.WIDTH(39), .RECTIFY(1'b0)) requantiser (.clk_i, .shift_i, .value_i(sum), .result_o);

  always_ff @(posedge clk_i) begin
    if (rst_ni && value_valid_i) not_overrun : assert (!busy_q || output_last);
  end
endmodule
