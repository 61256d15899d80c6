// Marks of the vectors on their way through the matrix. They enter behind the cycles by which the matrix of their precision is
// faster than that of int8. Only one command is under way, so marks never meet.
module tensor_dense_marks #(
  parameter int WIDTH  = 8,
  parameter int MATRIX = 16,  // cycles of the matrix of int8
  parameter int INT16  = 0,
  parameter int INT32  = 0,
  parameter int INT16_MATRIX = MATRIX,
  parameter int INT32_MATRIX = MATRIX
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             int16_i,
  input  logic             int32_i,
  input  logic             valid_i,
  input  logic [WIDTH-1:0] marks_i,
  output logic [WIDTH-1:0] next_marks_o,  // one cycle before valid_o
  output logic             valid_o,
  output logic [WIDTH-1:0] marks_o
);
  for (genvar s = 1; s <= MATRIX; s++) begin : gen_stage
    logic             valid, valid_q;
    logic [WIDTH-1:0] marks, marks_q;
    wire enters = (s == 1 && !(INT16 != 0 && int16_i) && !(INT32 != 0 && int32_i)) ||
                  (INT16 != 0 && s == MATRIX - INT16_MATRIX + 1 && int16_i) ||
                  (INT32 != 0 && s == MATRIX - INT32_MATRIX + 1 && int32_i);
    if (s == 1) begin : gen_first
      assign valid = valid_i & enters;
      assign marks = marks_i;
    end else begin : gen_next
      assign valid = enters ? valid_i : gen_stage[s-1].valid_q;
      assign marks = enters ? marks_i : gen_stage[s-1].marks_q;
    end
    always_ff @(posedge clk_i) begin
      valid_q <= valid & rst_ni;
      marks_q <= marks;
    end
  end
  assign next_marks_o = gen_stage[MATRIX-1].marks_q;
  assign valid_o      = gen_stage[MATRIX].valid_q;
  assign marks_o      = gen_stage[MATRIX].marks_q;
  wire unused = &{1'b0, int16_i, int32_i};
endmodule
