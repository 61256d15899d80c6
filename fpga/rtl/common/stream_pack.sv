// Narrow to wide: COUNT elements make a word, the first in the low bits. in_last_i closes a word early, so
// that a frame ends with it; missing elements are zero. One element per cycle; in_ready_o follows
// out_ready_i.
module stream_pack #(
  parameter int WIDTH = 8,
  parameter int COUNT = 8  // at least 2
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [WIDTH-1:0]       in_data_i,
  input  logic                   in_last_i,
  input  logic                   in_valid_i,
  output logic                   in_ready_o,
  output logic [COUNT*WIDTH-1:0] out_data_o,
  output logic                   out_valid_o,
  input  logic                   out_ready_i
);
  localparam int CW = $clog2(COUNT);

  logic [COUNT*WIDTH-1:0] word_q;
  logic [CW-1:0]          next_q;
  logic                   full_q;

  assign in_ready_o  = out_ready_i || !full_q;
  assign out_data_o  = word_q;
  assign out_valid_o = full_q;

  logic take;
  assign take = in_valid_i && in_ready_o;

  always_ff @(posedge clk_i) begin
    if (take) begin
      if (next_q == '0) word_q <= {{((COUNT - 1) * WIDTH) {1'b0}}, in_data_i};
      else word_q[next_q*WIDTH+:WIDTH] <= in_data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_q <= '0;
      full_q <= 1'b0;
    end else if (take) begin
      full_q <= in_last_i || next_q == CW'(COUNT - 1);
      next_q <= (in_last_i || next_q == CW'(COUNT - 1)) ? '0 : next_q + 1'b1;
    end else if (out_ready_i) begin
      full_q <= 1'b0;
    end
  end

  stream_check #(.WIDTH(COUNT * WIDTH)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
