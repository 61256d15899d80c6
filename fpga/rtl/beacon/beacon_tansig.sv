// The hyperbolic tangent of two sums per cycle, three cycles later: Q1.10 from the table of [BEACON], 16,384 words of
// which the 8,192 for x ≥ 0 are stored, since tanh is odd. One block RAM port for each sum.
module beacon_tansig #(
  parameter ROM = "tansig.hex"
) (
  input  logic               clk_i,
  input  logic signed [28:0] sum_0_i,  // 18 fraction bits
  input  logic signed [28:0] sum_1_i,
  output logic signed [10:0] value_0_o,
  output logic signed [10:0] value_1_o
);
  logic [9:0] table_words[8192];
  initial $readmemh(ROM, table_words);

  logic [12:0] address_0_q, address_1_q;
  logic [9:0]  word_0_q, word_1_q;
  always_ff @(posedge clk_i) word_0_q <= table_words[address_0_q];
  always_ff @(posedge clk_i) word_1_q <= table_words[address_1_q];

  for (genvar s = 0; s < 2; s++) begin : gen_sum
    logic signed [28:0] sum;
    logic [13:0]        magnitude;
    logic               beyond;
    logic [12:0]        address;
    logic [1:0]         negative_q;
    logic [9:0]         word;
    logic signed [10:0] value_q;
    assign sum = s == 0 ? sum_0_i : sum_1_i;
    // The address has 11 fraction bits. Beyond the table its last word holds: ±1023.
    assign magnitude = {1'b0, sum[19:7] ^ {13{sum[28]}}} + 14'(sum[28]);
    assign beyond    = sum[28:20] != {9{sum[28]}} || magnitude[13];
    assign address   = beyond ? 13'h1fff : magnitude[12:0];
    always_ff @(posedge clk_i) begin
      negative_q <= {negative_q[0], sum[28]};
      value_q    <= negative_q[1] ? -{1'b0, word} : {1'b0, word};
    end
    logic unused_fraction;
    assign unused_fraction = ^sum[6:0];
    if (s == 0) begin : gen_first
      assign word      = word_0_q;
      assign value_0_o = value_q;
      always_ff @(posedge clk_i) address_0_q <= address;
    end else begin : gen_second
      assign word      = word_1_q;
      assign value_1_o = value_q;
      always_ff @(posedge clk_i) address_1_q <= address;
    end
  end
endmodule
