// A product in the fabric: a digit of b, two bits at a time, selects 0, a, 2a or 3a, and a tree adds the selections. A
// product per cycle; the latency is 1 + ceil(log2(ceil(B_WIDTH / 2))) cycles. The caller gives 3a, which is often the same for
// many products.
module tensor_multiply #(
  parameter int A_WIDTH  = 18,  // signed
  parameter int B_WIDTH  = 16,
  parameter bit B_SIGNED = 1'b0
) (
  input  logic                              clk_i,
  input  logic signed [A_WIDTH-1:0]         a_i,
  input  logic signed [A_WIDTH+1:0]         a3_i,
  input  logic        [B_WIDTH-1:0]         b_i,
  output logic signed [A_WIDTH+B_WIDTH-1:0] p_o
);
  localparam int DIGITS = (B_WIDTH + 1) / 2;
  localparam int LEVELS = $clog2(DIGITS);
  localparam int PW     = A_WIDTH + B_WIDTH;
  localparam int FILL   = 2 * DIGITS - B_WIDTH;

  wire [2*DIGITS-1:0] b = {{FILL{B_SIGNED & b_i[B_WIDTH-1]}}, b_i};

  // Level 0 holds the selections; a node of level l stands for 2^l digits. Only the top node can be negative by its digit:
  // its selection is inverted, and the carry that completes it follows it until it meets its neighbour.
  for (genvar l = 0; l <= LEVELS; l++) begin : gen_level
    localparam int NODES = (DIGITS + (1 << l) - 1) >> l;
    localparam int WIDTH = A_WIDTH + 2 * (1 << l);
    localparam int STEP  = 1 << l;  // of digits below: a node's upper half is shifted by so many bits
    logic [NODES*WIDTH-1:0] nodes_q;
    logic                   carry_q;
    if (l == 0) begin : gen_select
      for (genvar d = 0; d < DIGITS; d++) begin : gen_digit
        localparam bit TOP = B_SIGNED && d == DIGITS - 1;
        logic signed [WIDTH-1:0] once, twice, selected;
        assign once  = WIDTH'(a_i);
        assign twice = once <<< 1;
        always_comb begin
          unique case (b[2*d+:2])
            2'b00:   selected = '0;
            2'b01:   selected = once;
            2'b10:   selected = TOP ? ~twice : twice;
            default: selected = TOP ? ~once : a3_i;
          endcase
        end
        always_ff @(posedge clk_i) nodes_q[d*WIDTH+:WIDTH] <= selected;
      end
      always_ff @(posedge clk_i) carry_q <= B_SIGNED & b[2*DIGITS-1];
    end else begin : gen_add
      localparam int BELOW   = (DIGITS + (1 << (l - 1)) - 1) >> (l - 1);
      localparam int NARROW  = A_WIDTH + STEP;
      for (genvar n = 0; n < NODES; n++) begin : gen_node
        logic signed [NARROW-1:0] low;
        assign low = gen_level[l-1].nodes_q[2*n*NARROW+:NARROW];
        if (2 * n + 1 < BELOW) begin : gen_pair
          localparam bit LAST = 2 * n + 1 == BELOW - 1;
          logic signed [NARROW-1:0] high;
          logic signed [A_WIDTH-1:0] upper;
          logic signed [NARROW+1:0] sum;  // with the carry below its lowest bit
          logic unused_sum;
          assign high = gen_level[l-1].nodes_q[(2*n+1)*NARROW+:NARROW];
          assign upper = low[NARROW-1:STEP];
          assign sum  = {high[NARROW-1], high, 1'b1} +
                        {(NARROW + 1)'(upper), LAST & gen_level[l-1].carry_q};
          assign unused_sum = sum[0];
          always_ff @(posedge clk_i) nodes_q[n*WIDTH+:WIDTH] <= WIDTH'({sum[NARROW+1:1], low[STEP-1:0]});
        end else begin : gen_alone
          always_ff @(posedge clk_i) nodes_q[n*WIDTH+:WIDTH] <= WIDTH'(low);
        end
      end
      // The carry waits while its node is alone.
      always_ff @(posedge clk_i) carry_q <= BELOW % 2 == 1 && gen_level[l-1].carry_q;
    end
  end

  wire unused = &{1'b0, gen_level[LEVELS].carry_q, gen_level[LEVELS].nodes_q};
  assign p_o = signed'(gen_level[LEVELS].nodes_q[PW-1:0]);
endmodule
