// One port to write, one to read. A word comes two cycles after its address; a word that is written in the cycle in which
// its address is read comes as it was before.
module tensor_memory #(
  parameter int WIDTH = 128,
  parameter int DEPTH = 16384,
  parameter int AW    = $clog2(DEPTH)
) (
  input  logic             clk_i,
  input  logic             write_valid_i,
  input  logic [AW-1:0]    write_address_i,
  input  logic [WIDTH-1:0] write_data_i,
  input  logic [AW-1:0]    read_address_i,
  output logic [WIDTH-1:0] read_data_o
);
  logic [WIDTH-1:0] memory[DEPTH];
  logic [WIDTH-1:0] read_q;

  always_ff @(posedge clk_i) begin
    if (write_valid_i) memory[write_address_i] <= write_data_i;
    read_q      <= memory[read_address_i];
    read_data_o <= read_q;
  end
endmodule
