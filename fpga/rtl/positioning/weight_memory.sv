// Parameters of one layer: DEPTH rows of WIDTH bits, written 64 bits at a time at load, read a row per cycle.
// Each 64-bit word of the row has its own memory, so that one word can be written without the others.
module weight_memory #(
  parameter int WIDTH = 208,
  parameter int DEPTH = 200,
  parameter int WORDS = (WIDTH + 63) / 64,
  parameter int RW    = DEPTH > 1 ? $clog2(DEPTH) : 1,
  parameter int WW    = WORDS > 1 ? $clog2(WORDS) : 1
) (
  input  logic             clk_i,
  input  logic             write_valid_i,
  input  logic [RW-1:0]    write_row_i,
  input  logic [WW-1:0]    write_word_i,
  input  logic [63:0]      write_data_i,
  input  logic [RW-1:0]    row_i,
  output logic [WIDTH-1:0] row_o  // one cycle after row_i
);
  for (genvar w = 0; w < WORDS; w++) begin : gen_word
    localparam int BITS = w == WORDS - 1 ? WIDTH - 64 * (WORDS - 1) : 64;
    logic [BITS-1:0] memory[DEPTH];
    logic [BITS-1:0] row_q;
    assign row_o[64*w+:BITS] = row_q;
    always_ff @(posedge clk_i) begin
      if (write_valid_i && 32'(write_word_i) == w) memory[write_row_i] <= write_data_i[BITS-1:0];
      row_q <= memory[row_i];
    end
  end
  if (WIDTH < 64 * WORDS) begin : gen_unused
    logic unused_data;
    assign unused_data = ^write_data_i;
  end
endmodule
