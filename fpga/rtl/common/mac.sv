// One multiply-accumulate in the DSP slice of a family; selects one of the two wrappers. FAMILY 1 is the
// DSP48E1 (7 series), 2 the DSP48E2 (UltraScale+). Ports and timing are those of the wrappers.
module mac #(
  parameter int FAMILY     = 2,
  parameter int A_WIDTH    = 25,
  parameter int B_WIDTH    = 18,
  parameter int P_WIDTH    = 48,
  parameter bit ACCUMULATE = 1'b0
) (
  input  logic                      clk_i,
  input  logic                      first_i,
  input  logic signed [A_WIDTH-1:0] a_i,
  input  logic signed [B_WIDTH-1:0] b_i,
  input  logic signed [P_WIDTH-1:0] c_i,
  output logic signed [P_WIDTH-1:0] p_o
);
  if (FAMILY == 1) begin : gen_e1
    mac_dsp48e1 #(
      .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .P_WIDTH(P_WIDTH), .ACCUMULATE(ACCUMULATE)
    ) dsp (.clk_i, .en_i(1'b1), .first_i, .a_i, .b_i, .c_i, .p_o);
  end else begin : gen_e2
    mac_dsp48e2 #(
      .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .P_WIDTH(P_WIDTH), .ACCUMULATE(ACCUMULATE)
    ) dsp (.clk_i, .en_i(1'b1), .first_i, .a_i, .b_i, .c_i, .p_o);
  end
endmodule
