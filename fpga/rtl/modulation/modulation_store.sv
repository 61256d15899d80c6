// Samples and words between layers: DEPTH words of 16 positions of a channel. A result is written at once; a word
// of the next burst (half of a stored word) waits for a cycle without one.
module modulation_store #(
  parameter int DEPTH = 512,
  parameter int AW    = $clog2(DEPTH)
) (
  input  logic          clk_i,
  input  logic [1:0]    result_valid_i,    // halves to be written
  input  logic [AW-1:0] result_address_i,
  input  logic [127:0]  result_data_i,
  input  logic          sample_valid_i,
  output logic          sample_ready_o,
  input  logic [AW:0]   sample_address_i,  // of the half
  input  logic [63:0]   sample_data_i,
  input  logic [AW-1:0] read_address_i,
  output logic [127:0]  read_data_o        // one cycle later
);
  logic [1:0]    write;
  logic [AW-1:0] address;
  assign sample_ready_o = result_valid_i == '0;
  assign address        = sample_ready_o ? sample_address_i[AW:1] : result_address_i;
  for (genvar h = 0; h < 2; h++) begin : gen_half
    assign write[h] = sample_ready_o ? sample_valid_i && 32'(sample_address_i[0]) == h : result_valid_i[h];
    weight_memory #(.WIDTH(64), .DEPTH(DEPTH)) words (
      .clk_i, .write_valid_i(write[h]), .write_row_i(address), .write_word_i(1'b0),
      .write_data_i(sample_ready_o ? sample_data_i : result_data_i[64*h+:64]),
      .row_i(read_address_i), .row_o(read_data_o[64*h+:64])
    );
  end
endmodule
