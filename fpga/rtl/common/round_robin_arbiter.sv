// Merges several streams in turn. After a word of source i, the sources i+1, i+2, … have priority, so that a
// source waits for at most one word of each other. The choice stands until the word is taken. Combinational
// from in to out.
module round_robin_arbiter #(
  parameter int SOURCES = 4,  // at least 2
  parameter int WIDTH   = 8
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [SOURCES*WIDTH-1:0]   in_data_i,
  input  logic [SOURCES-1:0]         in_valid_i,
  output logic [SOURCES-1:0]         in_ready_o,
  output logic [WIDTH-1:0]           out_data_o,
  output logic [$clog2(SOURCES)-1:0] out_source_o,
  output logic                       out_valid_o,
  input  logic                       out_ready_i
);
  localparam int IW = $clog2(SOURCES);

  logic [IW-1:0] last_q, choice, held_q;
  logic          holding_q;

  // The lowest source that asks; the lowest one above the last winner has priority over it.
  always_comb begin
    choice = '0;
    for (int i = SOURCES - 1; i >= 0; i--) begin
      if (in_valid_i[i]) choice = IW'(i);
    end
    for (int i = SOURCES - 1; i >= 0; i--) begin
      if (in_valid_i[i] && IW'(i) > last_q) choice = IW'(i);
    end
    if (holding_q) choice = held_q;
  end

  assign out_valid_o  = |in_valid_i;
  assign out_source_o = choice;

  always_comb begin
    out_data_o = '0;
    for (int i = 0; i < SOURCES; i++) begin
      if (choice == IW'(i)) out_data_o = in_data_i[i*WIDTH+:WIDTH];
    end
  end

  for (genvar i = 0; i < SOURCES; i++) begin : gen_ready
    assign in_ready_o[i] = out_ready_i && out_valid_o && choice == IW'(i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      last_q    <= IW'(SOURCES - 1);
      holding_q <= 1'b0;
    end else begin
      holding_q <= out_valid_o && !out_ready_i;
      if (out_valid_o && out_ready_i) last_q <= choice;
    end
    held_q <= choice;
  end

  stream_check #(.WIDTH(WIDTH + IW)) check_out (
    .clk_i, .rst_ni, .data_i({out_source_o, out_data_o}), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
