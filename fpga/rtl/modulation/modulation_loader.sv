// Deals the load stream out to the memories. The order of the words (fpga/model/modulation_image.h writes it):
//   1  the program, 8 words (modulation_sequence)
//   2  scale and offset of each output channel, a word each (modulation_results)
//   3  weights, WORDS words a row: word w has in bits 16k+15…16k those of column 4w + k (modulation_column)
// A stream that goes on starts over: the next network. loaded_o is low from its first word to its last.
module modulation_loader #(
  parameter int SCALES = 256,
  parameter int ROWS   = 2112,
  parameter int WORDS  = 2     // at most 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,  // nothing is being computed
  input  logic [63:0] load_data_i,
  input  logic        load_valid_i,
  output logic        load_ready_o,
  output logic        loaded_o,
  // A word for one memory, a cycle after it was accepted.
  output logic [3:1]  write_valid_o,
  output logic [15:0] write_row_o,
  output logic [1:0]  write_word_o,
  output logic [63:0] write_data_o
);
  typedef enum logic [1:0] {Program, Scales, Weights} section_e;
  section_e    section_q;
  logic [15:0] row_q, rows;
  logic [1:0]  word_q;
  logic        take, row_last, section_last;
  always_comb begin
    unique case (section_q)
      Program: rows = 16'd8;
      Scales:  rows = 16'(SCALES);
      default: rows = 16'(ROWS);
    endcase
  end
  assign load_ready_o = enable_i;
  assign take         = load_valid_i && load_ready_o;
  assign row_last     = section_q != Weights || word_q == 2'(WORDS - 1);
  assign section_last = row_last && row_q == rows - 16'd1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      section_q     <= Program;
      row_q         <= '0;
      word_q        <= '0;
      loaded_o      <= 1'b0;
      write_valid_o <= '0;
    end else begin
      write_valid_o <= '0;
      if (take) begin
        loaded_o <= section_q == Weights && section_last;
        word_q   <= row_last ? '0 : word_q + 1'b1;
        if (row_last) row_q <= section_last ? '0 : row_q + 16'd1;
        if (section_last) section_q <= section_q == Program ? Scales : section_q == Scales ? Weights : Program;
        write_valid_o <= {section_q == Weights, section_q == Scales, section_q == Program};
      end
    end
  end
  always_ff @(posedge clk_i) begin
    write_row_o  <= row_q;
    write_word_o <= word_q;
    write_data_o <= load_data_i;
  end
endmodule
