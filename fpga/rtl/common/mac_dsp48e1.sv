// One DSP48E1: p = a·b + c, or the running sum p = (first ? c : p) + a·b.
//
// Three registers: a and b enter in cycle 0, c and first (ACCUMULATE) are taken in cycle 2, p shows the sum in cycle 3.
// For a sum of n products: first_i high two cycles after the first pair, low for the others. en_i holds all of it.
// Chain by wiring p_o to the next one's c_i and delaying that one's a and b by one cycle each.
// The product register is exactly A_WIDTH + B_WIDTH wide and extended behind it: a wider one lets the packing of
// yosys 0.23 replace upper sign bits by x without an error.
module mac_dsp48e1 #(
  parameter int A_WIDTH    = 25,  // signed, at most 25
  parameter int B_WIDTH    = 18,  // signed, at most 18
  parameter int P_WIDTH    = 48,  // at most 48; the sum wraps
  parameter bit ACCUMULATE = 1'b0
) (
  input  logic                      clk_i,
  input  logic                      en_i,
  input  logic                      first_i,
  input  logic signed [A_WIDTH-1:0] a_i,
  input  logic signed [B_WIDTH-1:0] b_i,
  input  logic signed [P_WIDTH-1:0] c_i,
  output logic signed [P_WIDTH-1:0] p_o
);
  localparam int MW = A_WIDTH + B_WIDTH;
  if (A_WIDTH > 25 || B_WIDTH > 18 || P_WIDTH > 48 || P_WIDTH < MW) $error("does not fit a DSP48E1");

  logic signed [A_WIDTH-1:0] a_q;
  logic signed [B_WIDTH-1:0] b_q;
  logic signed [MW-1:0]      m_q;
  logic signed [P_WIDTH-1:0] p_q, addend;

  assign p_o = p_q;

  if (ACCUMULATE) begin : gen_accumulate
    assign addend = first_i ? c_i : p_q;
  end else begin : gen_add
    logic unused_first;
    assign unused_first = first_i;
    assign addend = c_i;
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      a_q <= a_i;
      b_q <= b_i;
      m_q <= a_q * b_q;
      p_q <= addend + P_WIDTH'(m_q);
    end
  end
endmodule
