// The output stage in bfloat16: a vector of float32 sums becomes one vector of bfloat16, rounded and limited, or two vectors of
// float32, the second of which belongs to a block of its own.
module tensor_bfloat_output #(
  parameter int LANES = 16,
  parameter int COLUMNS = LANES / 2
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  float32_i,
  input  logic [15:0]           low_i,
  input  logic [15:0]           high_i,
  input  logic                  valid_i,   // with float32, at most every second cycle
  input  logic                  first_i,   // of a block
  input  logic [32*COLUMNS-1:0] sums_i,
  // One cycle later with float32, else two.
  output logic                  valid_o,
  output logic                  first_o,
  output logic                  second_o,  // the second vector of float32
  output logic                  last_o,    // of the vectors of a pixel
  output logic [8*LANES-1:0]    data_o
);
  localparam int HALF = 8 * LANES;

  logic [16*COLUMNS-1:0] rounded_q, limited;
  logic [HALF-1:0]       upper_q, data_q;
  logic                  valid_q, valid_qq, first_q, first_qq;
  assign valid_o  = float32_i ? valid_q | valid_qq : valid_qq;
  assign first_o  = float32_i ? first_q : first_qq;
  assign second_o = float32_i & valid_qq;
  assign last_o   = valid_qq;
  assign data_o   = data_q;

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < COLUMNS; i++) begin
      // Halves to even. The lower half of an infinity and of the only NaN is 0.
      rounded_q[16*i+:16] <= sums_i[32*i+16+:16] +
                             {15'd0, sums_i[32*i+15] & (sums_i[32*i+16] | (sums_i[32*i+:15] != '0))};
    end
    upper_q <= sums_i[HALF+:HALF];
  end
  for (genvar c = 0; c < COLUMNS; c++) begin : gen_column
    tensor_float_limit #(.WIDTH(16)) limiter (
      .value_i(rounded_q[16*c+:16]), .low_i, .high_i, .value_o(limited[16*c+:16])
    );
  end
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < COLUMNS; i++) begin
      data_q[16*i+:16] <= !float32_i ? limited[16*i+:16]
        : valid_i ? sums_i[16*i+:16] : upper_q[16*i+:16];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q  <= 1'b0;
      valid_qq <= 1'b0;
      first_q  <= 1'b0;
      first_qq <= 1'b0;
    end else begin
      valid_q  <= valid_i;
      valid_qq <= valid_q;
      first_q  <= valid_i & first_i;
      first_qq <= first_q;
      two_vectors_have_two_cycles : assert (!(float32_i && valid_i && valid_q));
    end
  end
endmodule
