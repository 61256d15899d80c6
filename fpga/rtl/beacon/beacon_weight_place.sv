// Where a layer's weight is in beacon_weights. Weights are numbered in the order of [BEACON]: for each neuron its
// inputs' weights, then its bias.
module beacon_weight_place #(
  parameter int LAYER = 1
) (
  input  logic [5:0] weight_i,
  output logic [3:0] word_o,
  output logic [1:0] lane_o
);
  if (LAYER == 1) begin : gen_hidden
    assign {word_o, lane_o} = weight_i;
  end else begin : gen_outputs
    localparam logic [5:0] INPUTS = 6'd10;
    logic       second;  // output
    logic [5:0] hidden;
    assign second = weight_i > INPUTS;
    assign hidden = second ? weight_i - INPUTS - 6'd1 : weight_i;
    always_comb begin
      if (hidden == INPUTS) {word_o, lane_o} = {4'd15, 1'b0, second};
      else {word_o, lane_o} = {4'd10 + hidden[4:1], second, hidden[0]};
    end
    logic unused_number;
    assign unused_number = hidden[5];
  end
endmodule
