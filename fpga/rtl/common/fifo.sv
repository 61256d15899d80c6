// First in, first out. The memory is read through a register, so that a deep one becomes block RAM and a
// shallow one distributed RAM. Holds DEPTH + 1 words. A word comes out two cycles after it went in, then one
// per cycle. level_o counts the words inside; in_ready_o never depends on out_ready_i of the same cycle.
module fifo #(
  parameter int WIDTH = 8,
  parameter int DEPTH = 16  // a power of two, at least 2
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [WIDTH-1:0]         in_data_i,
  input  logic                     in_valid_i,
  output logic                     in_ready_o,
  output logic [WIDTH-1:0]         out_data_o,
  output logic                     out_valid_o,
  input  logic                     out_ready_i,
  output logic [$clog2(DEPTH)+1:0] level_o
);
  localparam int PW = $clog2(DEPTH);
  if (DEPTH < 2 || (1 << PW) != DEPTH) $error("DEPTH is not a power of two");

  logic [WIDTH-1:0] memory[DEPTH];
  // One bit more than an address: full and empty differ in the top bit only.
  logic [PW:0]      write_q, read_q;
  logic [WIDTH-1:0] out_q;
  logic             out_valid_q;

  logic full, empty, put, get;
  assign empty = write_q == read_q;
  assign full  = write_q == {~read_q[PW], read_q[PW-1:0]};
  assign put   = in_valid_i && !full;
  assign get   = !empty && (out_ready_i || !out_valid_q);

  assign in_ready_o  = !full;
  assign out_data_o  = out_q;
  assign out_valid_o = out_valid_q;

  logic [PW:0] stored;
  assign stored  = write_q - read_q;
  assign level_o = {1'b0, stored} + {{(PW + 1) {1'b0}}, out_valid_q};

  always_ff @(posedge clk_i) begin
    if (put) memory[write_q[PW-1:0]] <= in_data_i;
    if (get) out_q <= memory[read_q[PW-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q     <= '0;
      read_q      <= '0;
      out_valid_q <= 1'b0;
    end else begin
      if (put) write_q <= write_q + 1'b1;
      if (get) read_q <= read_q + 1'b1;
      if (get) out_valid_q <= 1'b1;
      else if (out_ready_i) out_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) occupancy_in_range : assert (stored <= (PW + 1)'(DEPTH));
  end

  stream_check #(.WIDTH(WIDTH)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
