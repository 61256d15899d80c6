// Assertions on one stream: an offered word stays offered, unchanged, until it is taken. Synthesis removes
// it; simulation and the proofs check it on the outputs of every block that instantiates it.
module stream_check #(
  parameter int WIDTH = 8
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [WIDTH-1:0] data_i,
  input logic             valid_i,
  input logic             ready_i
);
  logic             waiting_q = 1'b0;
  logic [WIDTH-1:0] data_q = '0;

  always_ff @(posedge clk_i) begin
    waiting_q <= rst_ni && valid_i && !ready_i;
    data_q    <= data_i;
    if (rst_ni && waiting_q) begin
      valid_holds : assert (valid_i);
      data_holds : assert (data_i == data_q);
    end
  end
endmodule
