// Enlarges the centre of each image, 16, 20, 24 or 28 pixels wide, to full size by nearest neighbour. One
// table serves both axes.
module resized_crop #(
  parameter ROM = "crop.hex"  // {variant, output position} → input position; from fpga/gen
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
  localparam logic [1:0] WHOLE = 2'd3;

  logic [4:0] rom[128];
  initial $readmemh(ROM, rom);

  logic       step;
  logic [1:0] variant;
  logic [4:0] row, column, from_row_q, from_column_q;
  assign variant = cfg_on_i ? variant_i : WHOLE;

  always_ff @(posedge clk_i) begin
    if (step) from_row_q <= rom[{variant, row}];
    if (step) from_column_q <= rom[{variant, column}];
  end

  frame_store u_store (
    .clk_i, .rst_ni, .cfg_repeat_i(2'd0), .in_data_i, .in_valid_i, .in_ready_o,
    .step_o(step), .row_o(row), .column_o(column),
    .from_row_i(from_row_q), .from_column_i(from_column_q), .inside_i(1'b1),
    .pass_done_o(next_o), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
