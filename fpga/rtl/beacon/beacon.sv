// The beacon network between streams.
//
// in: a word per sample, x0, x1, x2 as int16 from the low bits on; they saturate to 11 bits. out: a word per sample, y0
// and y1 as int32. load: the 16 words of beacon_weights; they are taken when nothing is being computed, and go before
// samples that wait. No sample is computed before weights are loaded. With cfg_read_i a word in is the number of a
// weight word, and the word out is that one. cfg_read_i stays as it is while anything is inside.
module beacon #(
  parameter int FAMILY = 2,  // 1: DSP48E1, 2: DSP48E2
  parameter ROM        = "tansig.hex"
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cfg_read_i,
  input  logic [63:0] load_data_i,
  input  logic        load_valid_i,
  output logic        load_ready_o,
  input  logic [63:0] in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [63:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  localparam int CAPACITY = 8;  // a pipeline of 18 cycles holds four samples

  // Load
  logic       idle, load, loaded_q;
  logic [3:0] load_word_q;
  assign load_ready_o = idle;
  assign load         = load_valid_i && load_ready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      load_word_q <= '0;
      loaded_q    <= 1'b0;
    end else if (load) begin
      load_word_q <= load_word_q + 4'd1;
      loaded_q    <= load_word_q == 4'd15;
    end
  end

  // Samples inside, from their word in to their word out
  logic       take, give, network_ready, outputs_valid;
  logic [3:0] inside_q;
  assign idle       = inside_q == '0;
  assign in_ready_o = loaded_q && !load_valid_i && inside_q < 4'(CAPACITY) && network_ready;
  assign take       = in_valid_i && in_ready_o;
  assign give       = out_valid_o && out_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= '0;
    else inside_q <= inside_q + 4'(take) - 4'(give);
  end

  logic [32:0] inputs;
  for (genvar k = 0; k < 3; k++) begin : gen_input
    beacon_saturate input_word (.value_i(in_data_i[16*k+:16]), .value_o(inputs[11*k+:11]));
  end
  logic unused_input;
  assign unused_input = ^in_data_i[63:48];

  logic [21:0] outputs;
  logic [63:0] weights;
  beacon_network #(.FAMILY(FAMILY), .ROM(ROM)) network (
    .clk_i, .rst_ni, .write_lanes_i({4{load}}), .write_word_i(load_word_q), .write_data_i(load_data_i),
    .read_i(cfg_read_i), .read_word_i(in_data_i[3:0]), .read_data_o(weights), .inputs_i(inputs),
    .inputs_valid_i(take && !cfg_read_i), .inputs_ready_o(network_ready), .outputs_o(outputs),
    .outputs_valid_o(outputs_valid)
  );

  logic        put, in_ready;
  logic [63:0] word;
  logic [4:0]  unused_level;
  assign put  = outputs_valid || (take && cfg_read_i);
  assign word = cfg_read_i ? weights : {32'(signed'(outputs[21:11])), 32'(signed'(outputs[10:0]))};
  fifo #(.WIDTH(64), .DEPTH(CAPACITY)) words (
    .clk_i, .rst_ni, .in_data_i(word), .in_valid_i(put), .in_ready_o(in_ready), .out_data_o, .out_valid_o, .out_ready_i,
    .level_o(unused_level)
  );
  always_ff @(posedge clk_i) begin
    if (rst_ni && put) room_was_reserved : assert (in_ready);
  end
endmodule
