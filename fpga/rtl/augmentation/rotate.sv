// Rotates each image by one of four angles. A table gives the source of each output pixel; row 31 means
// "outside".
module rotate #(
  parameter ROM = "rotation.hex"  // {variant, row, column} → {row, column}; from fpga/gen
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       cfg_on_i,
  input  logic [1:0] variant_i,  // read while an image is read; next_o asks for the next image's
  output logic       next_o,
  input  logic [7:0] in_data_i,
  input  logic       in_valid_i,
  output logic       in_ready_o,
  output logic [7:0] out_data_o,
  output logic       out_valid_o,
  input  logic       out_ready_i
);
  logic [9:0] rom[4096];
  initial $readmemh(ROM, rom);

  logic       step, outside;
  logic [4:0] row, column;
  logic [9:0] turned_q, straight_q, from;

  always_ff @(posedge clk_i) begin
    if (step) turned_q <= rom[{variant_i, row, column}];
    if (step) straight_q <= {row, column};
  end
  assign from    = cfg_on_i ? turned_q : straight_q;
  assign outside = &from[9:5];

  frame_store u_store (
    .clk_i, .rst_ni, .cfg_repeat_i(2'd0), .in_data_i, .in_valid_i, .in_ready_o,
    .step_o(step), .row_o(row), .column_o(column),
    .from_row_i(from[9:5]), .from_column_i(from[4:0]), .inside_i(!outside),
    .pass_done_o(next_o), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
