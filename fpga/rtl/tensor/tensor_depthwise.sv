// Depthwise 3×3 convolution: vectors of a padded image in the order of its rows, one a cycle; all LANES channels and nine taps
// at once. Two lines of the image are kept, so that each vector is read once.
module tensor_depthwise #(
  parameter int LANES = 16,
  parameter int LINE  = 512,
  parameter int CW    = $clog2(LINE)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [CW-1:0]       next_column_i,  // of the vector that follows in the next cycle
  input  logic [CW-1:0]       column_i,
  input  logic                valid_i,
  input  logic                output_i,       // the window that this vector completes is wanted
  input  logic                first_i,        // and is the first of its block
  input  logic [8*LANES-1:0]  vector_i,
  input  logic [72*LANES-1:0] taps_i,
  // Six cycles behind the vector.
  output logic                valid_o,
  output logic                first_o,
  output logic [20*LANES-1:0] sums_o
);
  localparam int VW = 8 * LANES;
  logic [VW-1:0] line1[LINE], line2[LINE];
  logic [VW-1:0] above1_q, above2_q;
  logic [VW-1:0] window_q[9];

  always_ff @(posedge clk_i) begin
    above1_q <= line1[next_column_i];
    above2_q <= line2[next_column_i];
    if (valid_i) begin
      line1[column_i] <= vector_i;
      line2[column_i] <= above1_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      for (int r = 0; r < 3; r++) begin
        window_q[3*r]   <= window_q[3*r+1];
        window_q[3*r+1] <= window_q[3*r+2];
      end
      window_q[2] <= above2_q;
      window_q[5] <= above1_q;
      window_q[8] <= vector_i;
    end
  end

  for (genvar i = 0; i < LANES; i++) begin : gen_lane
    logic [71:0] window, weights;
    for (genvar t = 0; t < 9; t++) begin : gen_tap
      assign window[8*t+:8]  = window_q[t][8*i+:8];
      assign weights[8*t+:8] = taps_i[VW*t+8*i+:8];
    end
    tensor_depthwise_lane lane (
      .clk_i, .window_i(window), .weights_i(weights), .sum_o(sums_o[20*i+:20])
    );
  end

  delay #(.CYCLES(6)) valid_delay (.clk_i, .rst_ni, .bit_i(valid_i & output_i), .bit_o(valid_o));
  delay #(.CYCLES(6)) first_delay (.clk_i, .rst_ni, .bit_i(first_i), .bit_o(first_o));
endmodule
