// Stores the tuples of a fusion, three words each, in one half of a double buffer while the other half is
// read. Converts single precision to the block's own float; panels from panels_i on read as void.
module fusion_input #(
  parameter int READS = 6
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [2:0]          panels_i,  // 1…4
  input  logic                raw_i,     // l11 and l22 may be anything
  input  logic [63:0]         in_data_i,
  input  logic                in_valid_i,
  output logic                in_ready_o,
  output logic                full_o,     // the half that is read is complete
  output logic                refused_o,  // and holds an invalid tuple
  input  logic                release_i,
  input  logic [READS*5-1:0]  index_i,    // panel·8 + element
  output logic [READS*37-1:0] values_o
);
  logic [1:0] full_q, refused_q, panel_q, word_q;
  logic       write_half_q, half_q, take, word_last, panel_last;
  assign in_ready_o = !full_q[write_half_q];
  assign take       = in_valid_i && in_ready_o;
  assign word_last  = word_q == 2'd2;
  assign panel_last = {1'b0, panel_q} == panels_i - 3'd1;
  assign full_o     = full_q[half_q];
  assign refused_o  = refused_q[half_q];

  // Low halves: x, l11, l22. High halves: y, l21, nothing.
  logic [73:0] converted;
  logic [1:0]  finite, positive;
  for (genvar h = 0; h < 2; h++) begin : gen_half
    logic [31:0] ieee;
    logic        zero;
    assign ieee        = in_data_i[32*h+:32];
    assign zero        = ieee[30:23] == '0;
    assign finite[h]   = ieee[30:23] != '1;
    assign positive[h] = !ieee[31] && !zero;
    assign converted[37*h+:37] = zero ? {1'b0, 12'h800, 24'd0}
                                      : {ieee[31], {4'd0, ieee[30:23]} - 12'd127, 1'b1, ieee[22:0]};
  end
  logic bad, unused_positive;
  assign bad = !finite[0] || (!finite[1] && !word_last) || (!raw_i && word_q != '0 && !positive[0]);
  assign unused_positive = positive[1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      full_q       <= '0;
      refused_q    <= '0;
      panel_q      <= '0;
      word_q       <= '0;
      write_half_q <= 1'b0;
      half_q       <= 1'b0;
    end else begin
      if (release_i) begin
        half_q            <= !half_q;
        full_q[half_q]    <= 1'b0;
        refused_q[half_q] <= 1'b0;
      end
      if (take) begin
        word_q <= word_last ? '0 : word_q + 2'd1;
        if (word_last) panel_q <= panel_last ? '0 : panel_q + 2'd1;
        if (bad) refused_q[write_half_q] <= 1'b1;
        if (word_last && panel_last) begin
          write_half_q         <= !write_half_q;
          full_q[write_half_q] <= 1'b1;
        end
      end
    end
  end

  logic [36:0] low[32], high[32];
  always_ff @(posedge clk_i) begin
    if (take) begin
      low[{write_half_q, panel_q, word_q}]  <= converted[36:0];
      high[{write_half_q, panel_q, word_q}] <= converted[73:37];
    end
  end
  for (genvar r = 0; r < READS; r++) begin : gen_read
    logic [1:0] panel, word;
    logic       second;
    assign {panel, word, second} = index_i[5*r+:5];
    assign values_o[37*r+:37] = {1'b0, panel} >= panels_i ? {1'b1, 12'h800, 24'd0}
                              : second ? high[{half_q, panel, word}] : low[{half_q, panel, word}];
  end
endmodule
