// Two results per word, sign-extended to 32 bits, the last word filled up with zero. This block cannot stop
// the pipeline: start an inference only if there is room for its result, CAPACITY at most.
module positioning_output #(
  parameter int RESULTS  = 5,
  parameter int CAPACITY = 4,
  parameter int WORDS    = (RESULTS + 1) / 2
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic signed [15:0] result_i,
  input  logic               result_valid_i,
  output logic [63:0]        out_data_o,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic               finished_o  // the last word of an inference leaves
);
  localparam int KW    = $clog2(RESULTS);
  localparam int DEPTH = 1 << $clog2(WORDS * CAPACITY);
  logic [KW-1:0] result_q;
  logic [31:0]   even_q, extended;
  logic          result_last, put, in_ready;
  assign extended    = 32'(result_i);
  assign result_last = result_q == KW'(RESULTS - 1);
  assign put         = result_valid_i && (result_q[0] || result_last);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) result_q <= '0;
    else if (result_valid_i) result_q <= result_last ? '0 : result_q + 1'b1;
  end
  always_ff @(posedge clk_i) if (!result_q[0]) even_q <= extended;

  logic [$clog2(DEPTH)+1:0] unused_level;
  fifo #(.WIDTH(64), .DEPTH(DEPTH)) words (
    .clk_i, .rst_ni, .in_data_i(result_q[0] ? {extended, even_q} : {32'd0, extended}), .in_valid_i(put),
    .in_ready_o(in_ready), .out_data_o, .out_valid_o, .out_ready_i, .level_o(unused_level)
  );

  localparam int OW = $clog2(WORDS + 1);
  logic [OW-1:0] word_q;
  logic          take;
  assign take       = out_valid_o && out_ready_i;
  assign finished_o = take && word_q == OW'(WORDS - 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) word_q <= '0;
    else if (take) word_q <= finished_o ? '0 : word_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && put) room_was_reserved : assert (in_ready);
  end
endmodule
