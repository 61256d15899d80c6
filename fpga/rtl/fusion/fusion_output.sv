// Five floats, in order, as single precision, two per word; NaN in all of them if the fusion was refused.
module fusion_output (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [36:0] value_i,
  input  logic        value_valid_i,
  input  logic        refused_i,
  output logic        room_o,        // there is room for one more fusion than is under way
  output logic [63:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  logic signed [11:0] exponent;
  logic [31:0]        single, even_q;
  logic [7:0]         biased;
  assign exponent = signed'(value_i[35:24]);
  assign biased   = 8'(exponent + 12'sd127);
  always_comb begin
    if (refused_i) single = 32'h7fc0_0000;
    else if (exponent < -12'sd126) single = {value_i[36], 31'd0};
    else if (exponent > 12'sd127) single = {value_i[36], 8'hff, 23'd0};
    else single = {value_i[36], biased, value_i[22:0]};
  end
  logic unused_leading;
  assign unused_leading = value_i[23];

  logic [2:0] number_q;
  logic       last, in_ready;
  assign last = number_q == 3'd4;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) number_q <= '0;
    else if (value_valid_i) number_q <= last ? '0 : number_q + 3'd1;
  end
  always_ff @(posedge clk_i) if (value_valid_i && !number_q[0]) even_q <= single;

  logic put;
  logic [4:0] level;
  assign put    = value_valid_i && (number_q[0] || last);
  assign room_o = level <= 5'd2;  // three words of the present fusion, three of the next: eight fit
  fifo #(.WIDTH(64), .DEPTH(8)) words (
    .clk_i, .rst_ni, .in_data_i(last ? {32'd0, single} : {single, even_q}), .in_valid_i(put), .in_ready_o(in_ready),
    .out_data_o, .out_valid_o, .out_ready_i, .level_o(level)
  );
  always_ff @(posedge clk_i) begin
    if (rst_ni && put) room_was_reserved : assert (in_ready);
  end
endmodule
