// Wide to narrow: a word becomes COUNT elements, low bits first, without a gap between words. in_ready_o follows
// out_ready_i in the cycle of a word's last element.
module stream_unpack #(
  parameter int WIDTH = 8,
  parameter int COUNT = 8  // at least 2
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [COUNT*WIDTH-1:0] in_data_i,
  input  logic                   in_valid_i,
  output logic                   in_ready_o,
  output logic [WIDTH-1:0]       out_data_o,
  output logic                   out_valid_o,
  input  logic                   out_ready_i
);
  localparam int CW = $clog2(COUNT);

  logic [COUNT*WIDTH-1:0] word_q;
  logic [CW-1:0]          left_q;  // elements behind the offered one
  logic                   valid_q;

  assign in_ready_o  = !valid_q || (out_ready_i && left_q == '0);
  assign out_data_o  = word_q[WIDTH-1:0];
  assign out_valid_o = valid_q;

  always_ff @(posedge clk_i) begin
    if (in_ready_o) word_q <= in_data_i;
    else if (out_ready_i) word_q <= {{WIDTH{1'b0}}, word_q[COUNT*WIDTH-1:WIDTH]};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (in_ready_o) valid_q <= in_valid_i;
    if (in_ready_o) left_q <= CW'(COUNT - 1);
    else if (out_ready_i) left_q <= left_q - 1'b1;
  end

  stream_check #(.WIDTH(WIDTH)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
