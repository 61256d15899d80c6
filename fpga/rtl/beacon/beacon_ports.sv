// The beacon board behind the ports of [BEACON]: the host writes samples into a memory for each input, starts up to 15
// of them, and reads the outputs from a memory for each. Bursts have up to 16 words. The weights of each layer are a
// memory that can be written and read while nothing runs (40 and 22 words, sign-extended). Inputs are sign-extended to 32
// bits and saturate to 11; outputs have 11 bits, padded with zeros. beacon_control has the registers.
//
// While a run computes, every port but control refuses words and says so in the status: no memory changes under a run.
module beacon_ports #(
  parameter int FAMILY = 2,  // 1: DSP48E1, 2: DSP48E2
  parameter TANSIG_ROM = "tansig.hex"
) (
`include "beacon_ports.svh"
);
  localparam int SAMPLES = 16;

  logic        start, finished, busy_q, idle;
  logic [3:0]  samples;    // of the run
  logic [3:0]  fed_q;      // samples that the network has taken
  logic [3:0]  written_q;  // outputs that are in their memories
  logic [8:0]  refused;    // by port
  assign idle = !busy_q;

  beacon_control control (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_awaddr_i(s_axi_control_awaddr),
    .axi_awvalid_i(s_axi_control_awvalid), .axi_wdata_i(s_axi_control_wdata),
    .axi_wstrb_i(s_axi_control_wstrb), .axi_wvalid_i(s_axi_control_wvalid),
    .axi_bready_i(s_axi_control_bready), .axi_araddr_i(s_axi_control_araddr),
    .axi_arvalid_i(s_axi_control_arvalid), .axi_rready_i(s_axi_control_rready),
    .axi_awready_o(s_axi_control_awready), .axi_wready_o(s_axi_control_wready),
    .axi_bresp_o(s_axi_control_bresp), .axi_bvalid_o(s_axi_control_bvalid),
    .axi_arready_o(s_axi_control_arready), .axi_rdata_o(s_axi_control_rdata),
    .axi_rresp_o(s_axi_control_rresp), .axi_rvalid_o(s_axi_control_rvalid), .interrupt_o(interrupt),
    .start_o(start), .length_o(samples), .busy_i(busy_q), .finished_i(finished), .refused_i(|refused)
  );

  // Samples
  logic [32:0] inputs;
  logic [2:0]  input_write;
  logic [11:0] input_word;
  logic [95:0] input_data;
  logic [2:0]  unused_request;
  assign input_data = {s_axi_x2_wdata, s_axi_x1_wdata, s_axi_x0_wdata};
  beacon_write_port port_x0 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_awaddr_i(s_axi_x0_awaddr), .axi_awlen_i(s_axi_x0_awlen),
    .axi_awburst_i(s_axi_x0_awburst), .axi_awvalid_i(s_axi_x0_awvalid), .axi_awready_o(s_axi_x0_awready),
    .axi_wstrb_i(s_axi_x0_wstrb), .axi_wlast_i(s_axi_x0_wlast), .axi_wvalid_i(s_axi_x0_wvalid),
    .axi_wready_o(s_axi_x0_wready), .axi_bresp_o(s_axi_x0_bresp), .axi_bvalid_o(s_axi_x0_bvalid),
    .axi_bready_i(s_axi_x0_bready), .enable_i(idle), .grant_i(1'b1), .request_o(unused_request[0]),
    .write_o(input_write[0]), .word_o(input_word[0+:4]), .refused_o(refused[0])
  );
  beacon_write_port port_x1 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_awaddr_i(s_axi_x1_awaddr), .axi_awlen_i(s_axi_x1_awlen),
    .axi_awburst_i(s_axi_x1_awburst), .axi_awvalid_i(s_axi_x1_awvalid), .axi_awready_o(s_axi_x1_awready),
    .axi_wstrb_i(s_axi_x1_wstrb), .axi_wlast_i(s_axi_x1_wlast), .axi_wvalid_i(s_axi_x1_wvalid),
    .axi_wready_o(s_axi_x1_wready), .axi_bresp_o(s_axi_x1_bresp), .axi_bvalid_o(s_axi_x1_bvalid),
    .axi_bready_i(s_axi_x1_bready), .enable_i(idle), .grant_i(1'b1), .request_o(unused_request[1]),
    .write_o(input_write[1]), .word_o(input_word[4+:4]), .refused_o(refused[1])
  );
  beacon_write_port port_x2 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_awaddr_i(s_axi_x2_awaddr), .axi_awlen_i(s_axi_x2_awlen),
    .axi_awburst_i(s_axi_x2_awburst), .axi_awvalid_i(s_axi_x2_awvalid), .axi_awready_o(s_axi_x2_awready),
    .axi_wstrb_i(s_axi_x2_wstrb), .axi_wlast_i(s_axi_x2_wlast), .axi_wvalid_i(s_axi_x2_wvalid),
    .axi_wready_o(s_axi_x2_wready), .axi_bresp_o(s_axi_x2_bresp), .axi_bvalid_o(s_axi_x2_bvalid),
    .axi_bready_i(s_axi_x2_bready), .enable_i(idle), .grant_i(1'b1), .request_o(unused_request[2]),
    .write_o(input_write[2]), .word_o(input_word[8+:4]), .refused_o(refused[2])
  );
  for (genvar k = 0; k < 3; k++) begin : gen_input
    logic [10:0] memory[SAMPLES];
    logic [10:0] value;
    beacon_saturate #(.IN_WIDTH(32)) saturate (.value_i(input_data[32*k+:32]), .value_o(value));
    always_ff @(posedge ap_clk) if (input_write[k]) memory[input_word[4*k+:4]] <= value;
    assign inputs[11*k+:11] = memory[fed_q];
  end

  // Weights: both layers' ports share the memories, layer 1 goes first.
  logic [1:0]  write, write_request, read_request;
  logic [11:0] write_weight, read_weight;  // 6 bits a layer
  logic [7:0]  write_word, read_word;      // 4 bits a layer
  logic [3:0]  write_lane, read_lane;      // 2 bits a layer
  logic [63:0] weights;
  logic [31:0] weight_1, weight_2;
  beacon_write_port #(.WORDS(40)) write_layer1 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_awaddr_i(s_axi_layer1_awaddr), .axi_awlen_i(s_axi_layer1_awlen),
    .axi_awburst_i(s_axi_layer1_awburst), .axi_awvalid_i(s_axi_layer1_awvalid),
    .axi_awready_o(s_axi_layer1_awready), .axi_wstrb_i(s_axi_layer1_wstrb), .axi_wlast_i(s_axi_layer1_wlast),
    .axi_wvalid_i(s_axi_layer1_wvalid), .axi_wready_o(s_axi_layer1_wready), .axi_bresp_o(s_axi_layer1_bresp),
    .axi_bvalid_o(s_axi_layer1_bvalid), .axi_bready_i(s_axi_layer1_bready), .enable_i(idle), .grant_i(1'b1),
    .request_o(write_request[0]), .write_o(write[0]), .word_o(write_weight[0+:6]), .refused_o(refused[3])
  );
  beacon_read_port #(.WORDS(40)) read_layer1 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_araddr_i(s_axi_layer1_araddr), .axi_arlen_i(s_axi_layer1_arlen),
    .axi_arburst_i(s_axi_layer1_arburst), .axi_arvalid_i(s_axi_layer1_arvalid),
    .axi_arready_o(s_axi_layer1_arready), .axi_rdata_o(s_axi_layer1_rdata), .axi_rresp_o(s_axi_layer1_rresp),
    .axi_rlast_o(s_axi_layer1_rlast), .axi_rvalid_o(s_axi_layer1_rvalid), .axi_rready_i(s_axi_layer1_rready),
    .enable_i(idle), .grant_i(1'b1), .request_o(read_request[0]), .word_o(read_weight[0+:6]),
    .data_i(weight_1), .refused_o(refused[5])
  );
  beacon_write_port #(.WORDS(22)) write_layer2 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_awaddr_i(s_axi_layer2_awaddr), .axi_awlen_i(s_axi_layer2_awlen),
    .axi_awburst_i(s_axi_layer2_awburst), .axi_awvalid_i(s_axi_layer2_awvalid),
    .axi_awready_o(s_axi_layer2_awready), .axi_wstrb_i(s_axi_layer2_wstrb), .axi_wlast_i(s_axi_layer2_wlast),
    .axi_wvalid_i(s_axi_layer2_wvalid), .axi_wready_o(s_axi_layer2_wready), .axi_bresp_o(s_axi_layer2_bresp),
    .axi_bvalid_o(s_axi_layer2_bvalid), .axi_bready_i(s_axi_layer2_bready), .enable_i(idle),
    .grant_i(!write_request[0]), .request_o(write_request[1]), .write_o(write[1]),
    .word_o(write_weight[6+:5]), .refused_o(refused[4])
  );
  beacon_read_port #(.WORDS(22)) read_layer2 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_araddr_i(s_axi_layer2_araddr), .axi_arlen_i(s_axi_layer2_arlen),
    .axi_arburst_i(s_axi_layer2_arburst), .axi_arvalid_i(s_axi_layer2_arvalid),
    .axi_arready_o(s_axi_layer2_arready), .axi_rdata_o(s_axi_layer2_rdata), .axi_rresp_o(s_axi_layer2_rresp),
    .axi_rlast_o(s_axi_layer2_rlast), .axi_rvalid_o(s_axi_layer2_rvalid), .axi_rready_i(s_axi_layer2_rready),
    .enable_i(idle), .grant_i(!read_request[0]), .request_o(read_request[1]), .word_o(read_weight[6+:5]),
    .data_i(weight_2), .refused_o(refused[6])
  );
  logic unused_requests;
  assign unused_requests  = ^{write_request[1], read_request[1]};
  assign write_weight[11] = 1'b0;
  assign read_weight[11]  = 1'b0;
  for (genvar l = 0; l < 2; l++) begin : gen_layer
    beacon_weight_place #(.LAYER(l + 1)) write_place (
      .weight_i(write_weight[6*l+:6]), .word_o(write_word[4*l+:4]), .lane_o(write_lane[2*l+:2])
    );
    beacon_weight_place #(.LAYER(l + 1)) read_place (
      .weight_i(read_weight[6*l+:6]), .word_o(read_word[4*l+:4]), .lane_o(read_lane[2*l+:2])
    );
  end
  assign weight_1 = 32'(signed'(weights[16*read_lane[1:0]+:16]));
  assign weight_2 = 32'(signed'(weights[16*read_lane[3:2]+:16]));

  // The write that was granted
  logic        layer;
  logic [3:0]  lanes;
  logic [15:0] value;
  assign layer = !write[0];
  assign lanes = write == '0 ? '0 : 4'b0001 << write_lane[2*layer+:2];
  assign value = layer ? s_axi_layer2_wdata[15:0] : s_axi_layer1_wdata[15:0];
  logic unused_upper;
  assign unused_upper = ^{s_axi_layer1_wdata[31:16], s_axi_layer2_wdata[31:16]};

  logic        inputs_valid, inputs_ready, outputs_valid;
  logic [21:0] outputs;
  assign inputs_valid = busy_q && fed_q != samples;
  beacon_network #(.FAMILY(FAMILY), .ROM(TANSIG_ROM)) network (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .write_lanes_i(lanes), .write_word_i(write_word[4*layer+:4]),
    .write_data_i({4{value}}), .read_i(idle), .read_word_i(read_request[0] ? read_word[3:0] : read_word[7:4]),
    .read_data_o(weights), .inputs_i(inputs), .inputs_valid_i(inputs_valid), .inputs_ready_o(inputs_ready),
    .outputs_o(outputs), .outputs_valid_o(outputs_valid)
  );

  // A run
  assign finished = busy_q && written_q == samples;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) busy_q <= 1'b0;
    else if (start) busy_q <= 1'b1;
    else if (finished) busy_q <= 1'b0;
    if (start) begin
      fed_q     <= '0;
      written_q <= '0;
    end else begin
      if (inputs_valid && inputs_ready) fed_q <= fed_q + 4'd1;
      if (outputs_valid) written_q <= written_q + 4'd1;
    end
  end

  // Outputs
  logic [7:0]  output_word;
  logic [21:0] output_data;
  logic [1:0]  unused_wanted;
  beacon_read_port port_y0 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_araddr_i(s_axi_y0_araddr), .axi_arlen_i(s_axi_y0_arlen),
    .axi_arburst_i(s_axi_y0_arburst), .axi_arvalid_i(s_axi_y0_arvalid), .axi_arready_o(s_axi_y0_arready),
    .axi_rdata_o(s_axi_y0_rdata), .axi_rresp_o(s_axi_y0_rresp), .axi_rlast_o(s_axi_y0_rlast),
    .axi_rvalid_o(s_axi_y0_rvalid), .axi_rready_i(s_axi_y0_rready), .enable_i(idle), .grant_i(1'b1),
    .request_o(unused_wanted[0]), .word_o(output_word[0+:4]), .data_i({21'd0, output_data[0+:11]}),
    .refused_o(refused[7])
  );
  beacon_read_port port_y1 (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .axi_araddr_i(s_axi_y1_araddr), .axi_arlen_i(s_axi_y1_arlen),
    .axi_arburst_i(s_axi_y1_arburst), .axi_arvalid_i(s_axi_y1_arvalid), .axi_arready_o(s_axi_y1_arready),
    .axi_rdata_o(s_axi_y1_rdata), .axi_rresp_o(s_axi_y1_rresp), .axi_rlast_o(s_axi_y1_rlast),
    .axi_rvalid_o(s_axi_y1_rvalid), .axi_rready_i(s_axi_y1_rready), .enable_i(idle), .grant_i(1'b1),
    .request_o(unused_wanted[1]), .word_o(output_word[4+:4]), .data_i({21'd0, output_data[11+:11]}),
    .refused_o(refused[8])
  );
  for (genvar o = 0; o < 2; o++) begin : gen_output
    logic [10:0] memory[SAMPLES];
    always_ff @(posedge ap_clk) if (outputs_valid) memory[written_q] <= outputs[11*o+:11];
    assign output_data[11*o+:11] = memory[output_word[4*o+:4]];
  end
endmodule
