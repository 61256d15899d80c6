// The sum of LEAVES signed numbers, a register after every second level. A result per cycle; the latency is
// ceil(ceil(log2(LEAVES)) / 2) cycles, none for a single leaf.
module adder_tree #(
  parameter int LEAVES = 13,
  parameter int WIDTH  = 18,
  parameter int LEVELS = $clog2(LEAVES)
) (
  input  logic                           clk_i,
  input  logic [LEAVES*WIDTH-1:0]        leaves_i,
  output logic signed [WIDTH+LEVELS-1:0] sum_o
);
  // Level 0 holds the leaves, filled up with zeros; level l holds 2^(LEVELS-l) sums of WIDTH + l bits.
  for (genvar l = 0; l <= LEVELS; l++) begin : gen_level
    localparam int NODES = 1 << (LEVELS - l);
    localparam int BITS  = WIDTH + l;
    logic [NODES*BITS-1:0] nodes;
    if (l == 0) begin : gen_leaves
      assign nodes = (NODES * BITS)'(leaves_i);
    end else begin : gen_sums
      logic [NODES*BITS-1:0] sums;
      for (genvar n = 0; n < NODES; n++) begin : gen_sum
        assign sums[n*BITS+:BITS] =
            BITS'(signed'(gen_level[l-1].nodes[(2*n)*(BITS-1)+:BITS-1])) +
            BITS'(signed'(gen_level[l-1].nodes[(2*n+1)*(BITS-1)+:BITS-1]));
      end
      if (l % 2 == 0 || l == LEVELS) begin : gen_register
        always_ff @(posedge clk_i) nodes <= sums;
      end else begin : gen_wire
        assign nodes = sums;
      end
    end
  end
  assign sum_o = signed'(gen_level[LEVELS].nodes);

  if (LEVELS == 0) begin : gen_unused
    logic unused_clk;
    assign unused_clk = clk_i;
  end
endmodule
