// Delays a word by DEPTH enabled cycles. No reset, so that it becomes a shift register in LUTs.
module delay_line #(
  parameter int WIDTH = 8,
  parameter int DEPTH = 1  // 0: a wire
) (
  input  logic             clk_i,
  input  logic             en_i,
  input  logic [WIDTH-1:0] data_i,
  output logic [WIDTH-1:0] data_o
);
  if (DEPTH == 0) begin : gen_wire
    logic unused;
    assign unused = clk_i & en_i;
    assign data_o = data_i;
  end else begin : gen_line
    logic [WIDTH-1:0] line_q[DEPTH];
    assign data_o = line_q[DEPTH-1];
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        line_q[0] <= data_i;
        for (int i = 1; i < DEPTH; i++) line_q[i] <= line_q[i-1];
      end
    end
  end
endmodule
