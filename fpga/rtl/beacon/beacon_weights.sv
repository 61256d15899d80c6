// The 62 weights as 16 words of four 16-bit lanes, lane 0 in the low bits (fpga/model/beacon_image.h):
//   0 … 9    hidden neuron n: the weights of its three inputs, then its bias
//   10 … 14  row r = word - 10 of the outputs: weights of output 0 for hidden 2r and 2r + 1, then of output 1
//   15       the biases of output 0 and output 1 in lanes 0 and 1
// Two hidden neurons and a row of the outputs are read per cycle, each weight in the cycle in which its multiplier takes
// it. Instead of these, read_i shows any word; nothing may be computed then.
module beacon_weights (
  input  logic         clk_i,
  input  logic [3:0]   write_lanes_i,  // of the word: to be written
  input  logic [3:0]   write_word_i,
  input  logic [63:0]  write_data_i,
  input  logic         read_i,
  input  logic [3:0]   read_word_i,
  output logic [63:0]  read_data_o,    // in the same cycle
  input  logic [2:0]   pair_0_i,       // pair of hidden neurons, for lane 0
  input  logic [2:0]   pair_1_i,       // for lane 1
  input  logic [2:0]   pair_2_i,       // for lane 2 and the bias
  output logic [127:0] hidden_o,       // neuron 2 · pair, then neuron 2 · pair + 1
  input  logic [2:0]   row_i,          // of the outputs: 2 … 6, the low bits of its word
  output logic [63:0]  outputs_o,
  output logic [31:0]  biases_o
);
  localparam logic [3:0] OUTPUTS = 4'd10, BIASES = 4'd15;

  for (genvar k = 0; k < 4; k++) begin : gen_lane
    logic [2:0] pair;
    if (k == 0) begin : gen_first
      assign pair = read_i ? read_word_i[3:1] : pair_0_i;
    end else if (k == 1) begin : gen_second
      assign pair = read_i ? read_word_i[3:1] : pair_1_i;
    end else begin : gen_last
      assign pair = read_i ? read_word_i[3:1] : pair_2_i;
    end
    for (genvar n = 0; n < 2; n++) begin : gen_neuron
      logic [15:0] memory[8];
      always_ff @(posedge clk_i) begin
        if (write_lanes_i[k] && write_word_i < OUTPUTS && 32'(write_word_i[0]) == n)
          memory[write_word_i[3:1]] <= write_data_i[16*k+:16];
      end
      assign hidden_o[64*n+16*k+:16] = memory[pair];
    end

    logic [15:0] outputs[8];
    always_ff @(posedge clk_i) begin
      if (write_lanes_i[k] && write_word_i >= OUTPUTS) outputs[write_word_i[2:0]] <= write_data_i[16*k+:16];
    end
    assign outputs_o[16*k+:16] = outputs[read_i ? read_word_i[2:0] : row_i];
  end

  // The accumulators take the biases while the rows are read, so these have registers of their own.
  logic [31:0] biases_q;
  assign biases_o = biases_q;
  always_ff @(posedge clk_i) begin
    for (int o = 0; o < 2; o++) begin
      if (write_lanes_i[o] && write_word_i == BIASES) biases_q[16*o+:16] <= write_data_i[16*o+:16];
    end
  end

  // Word 15 is in the outputs' memories too.
  always_comb begin
    if (read_word_i >= OUTPUTS) read_data_o = outputs_o;
    else read_data_o = hidden_o[64*read_word_i[0]+:64];
  end
endmodule
