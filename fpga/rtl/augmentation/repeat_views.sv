// Sends each image cfg_repeat_i + 1 times, so that the views of one image cross the bus once.
module repeat_views (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic [1:0] cfg_repeat_i,
  input  logic [7:0] in_data_i,
  input  logic       in_valid_i,
  output logic       in_ready_o,
  output logic [7:0] out_data_o,
  output logic       out_valid_o,
  input  logic       out_ready_i
);
  logic       step, unused_done;
  logic [4:0] row, column, row_q, column_q;

  always_ff @(posedge clk_i) begin
    if (step) {row_q, column_q} <= {row, column};
  end

  frame_store u_store (
    .clk_i, .rst_ni, .cfg_repeat_i, .in_data_i, .in_valid_i, .in_ready_o,
    .step_o(step), .row_o(row), .column_o(column),
    .from_row_i(row_q), .from_column_i(column_q), .inside_i(1'b1),
    .pass_done_o(unused_done), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
