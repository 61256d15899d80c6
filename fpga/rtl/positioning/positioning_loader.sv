// Deals the load stream out to the memories. The order of the words (fpga/model/positioning_image.h writes it):
//   0  one word: the shifts of layer 1, batch norm, layers 2, 3, 4 in bytes 0 to 4
//   1  layer 1, row r = pair · PHASES + phase, PARALLEL / 4 words: word w has, for k = 0…3, in bytes 2k and 2k+1 the
//      weights of outputs 2·pair and 2·pair + 1 for input phase · PARALLEL + 4w + k
//   2  batch norm, a word per channel: bits 15…0 scale, 47…16 offset
//   3  layer 2, a row per input, GROUPS2 groups of WORDS2 words: the weights of outputs group · LANES + 0…LANES-1
//   4  layer 3, row output · GROUPS2 + group, WORDS2 words: the weights of inputs group · LANES + 0…LANES-1
//   5  layer 4, row input · N4 + output, one word: the weight in bits 15…0
// A stream that goes on starts over: the next network. loaded_o is low from its first word to its last.
module positioning_loader #(
  parameter int SECTION_ROWS_1 = 200,
  parameter int SECTION_ROWS_2 = 200,
  parameter int SECTION_ROWS_3 = 200,
  parameter int SECTION_ROWS_4 = 160,
  parameter int SECTION_ROWS_5 = 100,
  parameter int SECTION_WORDS_1 = 128,
  parameter int SECTION_WORDS_3 = 32,
  parameter int SECTION_WORDS_4 = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,  // nothing is being computed
  input  logic [63:0] load_data_i,
  input  logic        load_valid_i,
  output logic        load_ready_o,
  output logic        loaded_o,
  output logic [29:0] shifts_o,
  // A word for one memory, a cycle after it was accepted.
  output logic [5:1]  write_valid_o,
  output logic [15:0] write_row_o,
  output logic [15:0] write_word_o,
  output logic [63:0] write_data_o
);
  typedef enum logic [2:0] {Shifts, Dense1, BatchNorm, Dense2, Dense3, Dense4} section_e;
  section_e    section_q, section_next;
  logic [15:0] row_q, word_q, rows, words;
  logic        take, word_last, row_last;

  always_comb begin
    unique case (section_q)
      Shifts:    {section_next, rows, words} = {Dense1, 16'd1, 16'd1};
      Dense1:    {section_next, rows, words} = {BatchNorm, 16'(SECTION_ROWS_1), 16'(SECTION_WORDS_1)};
      BatchNorm: {section_next, rows, words} = {Dense2, 16'(SECTION_ROWS_2), 16'd1};
      Dense2:    {section_next, rows, words} = {Dense3, 16'(SECTION_ROWS_3), 16'(SECTION_WORDS_3)};
      Dense3:    {section_next, rows, words} = {Dense4, 16'(SECTION_ROWS_4), 16'(SECTION_WORDS_4)};
      default:   {section_next, rows, words} = {Shifts, 16'(SECTION_ROWS_5), 16'd1};
    endcase
  end
  assign load_ready_o = enable_i;
  assign take         = load_valid_i && load_ready_o;
  assign word_last    = word_q == words - 16'd1;
  assign row_last     = row_q == rows - 16'd1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      section_q     <= Shifts;
      row_q         <= '0;
      word_q        <= '0;
      loaded_o      <= 1'b0;
      write_valid_o <= '0;
    end else begin
      write_valid_o <= '0;
      if (take) begin
        loaded_o <= section_q == Dense4 && row_last && word_last;
        word_q   <= word_last ? '0 : word_q + 16'd1;
        if (word_last) row_q <= row_last ? '0 : row_q + 16'd1;
        if (word_last && row_last) section_q <= section_next;
        write_valid_o <= {section_q == Dense4, section_q == Dense3, section_q == Dense2, section_q == BatchNorm,
                          section_q == Dense1};
      end
    end
  end

  // Layer 1's pairs: the upper weight is stored lower by one where the lower one is negative (see
  // dual_mac_lane).
  logic [63:0] data;
  always_comb begin
    data = load_data_i;
    if (section_q == Dense1) begin
      for (int k = 0; k < 4; k++) data[16*k+8+:8] = load_data_i[16*k+8+:8] - 8'(load_data_i[16*k+7]);
    end
  end
  always_ff @(posedge clk_i) begin
    write_row_o  <= row_q;
    write_word_o <= word_q;
    write_data_o <= data;
    if (take && section_q == Shifts) begin
      for (int s = 0; s < 5; s++) shifts_o[6*s+:6] <= load_data_i[8*s+:6];
    end
  end
endmodule
