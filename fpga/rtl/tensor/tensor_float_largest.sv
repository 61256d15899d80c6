// The largest of LEAVES numbers without a sign, a register after every second level. A result per cycle; the latency is
// ceil(log2(LEAVES) / 2) cycles. LEAVES is a power of two.
module tensor_float_largest #(
  parameter int LEAVES = 8,
  parameter int WIDTH  = 9,
  parameter int LEVELS = $clog2(LEAVES)
) (
  input  logic                    clk_i,
  input  logic [LEAVES*WIDTH-1:0] leaves_i,
  output logic [WIDTH-1:0]        largest_o
);
  for (genvar l = 0; l <= LEVELS; l++) begin : gen_level
    localparam int NODES = LEAVES >> l;
    logic [NODES*WIDTH-1:0] nodes;
    if (l == 0) begin : gen_leaves
      assign nodes = leaves_i;
    end else begin : gen_choices
      logic [NODES*WIDTH-1:0] choices;
      for (genvar n = 0; n < NODES; n++) begin : gen_choice
        logic [WIDTH-1:0] low, high;
        assign low  = gen_level[l-1].nodes[2*n*WIDTH+:WIDTH];
        assign high = gen_level[l-1].nodes[(2*n+1)*WIDTH+:WIDTH];
        assign choices[n*WIDTH+:WIDTH] = high > low ? high : low;
      end
      if (l % 2 == 0 || l == LEVELS) begin : gen_register
        always_ff @(posedge clk_i) nodes <= choices;
      end else begin : gen_wire
        assign nodes = choices;
      end
    end
  end
  assign largest_o = gen_level[LEVELS].nodes;
endmodule
