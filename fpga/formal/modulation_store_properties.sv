// A word of the store, any of them, holds what was written to it last: every result at once, every sample when it
// was accepted, and nothing else. A sample waits only for results.
module modulation_store_properties (
  input logic         clk_i,
  input logic [1:0]   result_valid_i,
  input logic         result_address_i,
  input logic [127:0] result_data_i,
  input logic         sample_valid_i,
  input logic [1:0]   sample_address_i,
  input logic [63:0]  sample_data_i,
  input logic         read_address_i
);
  logic         sample_ready;
  logic [127:0] read_data;
  modulation_store #(.DEPTH(2)) dut (
    .clk_i, .result_valid_i, .result_address_i, .result_data_i, .sample_valid_i, .sample_ready_o(sample_ready),
    .sample_address_i, .sample_data_i, .read_address_i, .read_data_o(read_data)
  );

  // The lowest bit of a half of a word stands for all: no bit of a word influences another.
  (* anyconst *) logic [1:0] half;
  logic known_q = 1'b0, read_q = 1'b0;
  logic expected_q, read_expected_q;
  (* observe = "dut.gen_half[0].words.gen_word[0].memory[0]" *) wire [63:0] word0_low;
  (* observe = "dut.gen_half[1].words.gen_word[0].memory[0]" *) wire [63:0] word0_high;
  (* observe = "dut.gen_half[0].words.gen_word[0].memory[1]" *) wire [63:0] word1_low;
  (* observe = "dut.gen_half[1].words.gen_word[0].memory[1]" *) wire [63:0] word1_high;

  logic       sample_hits, result_hits;
  logic [3:0] stored;
  assign stored      = {word1_high[0], word1_low[0], word0_high[0], word0_low[0]};
  assign sample_hits = sample_valid_i && sample_ready && sample_address_i == half;
  assign result_hits = result_valid_i[half[0]] && result_address_i == half[1];
  always_ff @(posedge clk_i) begin
    assert (sample_ready == (result_valid_i == '0));
    assert (!(sample_hits && result_hits));
    if (sample_hits || result_hits) known_q <= 1'b1;
    if (sample_hits) expected_q <= sample_data_i[0];
    if (result_hits) expected_q <= half[0] ? result_data_i[64] : result_data_i[0];
    if (known_q) assert (stored[half] == expected_q);
    read_q          <= known_q && read_address_i == half[1];
    read_expected_q <= expected_q;
    if (read_q) assert ((half[0] ? read_data[64] : read_data[0]) == read_expected_q);
    cover (read_q && read_expected_q && result_valid_i != '0 && sample_valid_i);
  end
endmodule
