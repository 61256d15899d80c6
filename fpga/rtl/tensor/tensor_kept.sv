// Weights that stay: a memory of program words that KEEP fills, and that a command reads again in order instead of the program.
module tensor_kept #(
  parameter int KEPT = 8192,  // words
  parameter int AW   = $clog2(KEPT)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic [AW-1:0] base_i,        // where KEEP begins to write, or a command to read
  input  logic          put_start_i,
  input  logic          put_valid_i,
  input  logic [63:0]   put_data_i,
  input  logic          get_start_i,   // what was read ahead for another command is dropped
  output logic [63:0]   data_o,
  output logic          valid_o,
  input  logic          ready_i,
  output logic          last_o         // the end of the memory was read
);
  localparam int DEPTH = 8;

  logic [AW-1:0] put_q;
  logic [AW:0]   get_q;
  logic [3:0]    claimed_q;            // words in the buffer or on their way to it
  logic          reads_q, arrives_q, arrives_qq;
  logic [63:0]   word;
  logic          unused_room;
  logic [4:0]    unused_level;

  wire over  = get_q[AW];
  wire ask   = reads_q & ~over & (claimed_q != 4'(DEPTH));
  wire taken = valid_o & ready_i;
  assign last_o = over & (claimed_q == '0);

  tensor_memory #(.WIDTH(64), .DEPTH(KEPT)) words (
    .clk_i, .write_valid_i(put_valid_i), .write_address_i(put_q), .write_data_i(put_data_i),
    .read_address_i(get_q[AW-1:0]), .read_data_o(word)
  );
  fifo #(.WIDTH(64), .DEPTH(DEPTH)) buffer (
    .clk_i, .rst_ni(rst_ni & ~get_start_i), .in_data_i(word), .in_valid_i(arrives_qq), .in_ready_o(unused_room),
    .out_data_o(data_o), .out_valid_o(valid_o), .out_ready_i(ready_i), .level_o(unused_level)
  );

  always_ff @(posedge clk_i) begin
    if (put_start_i) put_q <= base_i;
    else if (put_valid_i) put_q <= put_q + 1'b1;
    if (get_start_i) get_q <= {1'b0, base_i};
    else if (ask) get_q <= get_q + 1'b1;
    if (!rst_ni) begin
      reads_q    <= 1'b0;
      arrives_q  <= 1'b0;
      arrives_qq <= 1'b0;
      claimed_q  <= '0;
    end else if (get_start_i) begin
      reads_q    <= 1'b1;
      arrives_q  <= 1'b0;
      arrives_qq <= 1'b0;
      claimed_q  <= '0;
    end else begin
      arrives_q  <= ask;
      arrives_qq <= arrives_q;
      claimed_q  <= claimed_q + 4'(ask) - 4'(taken);
    end
  end
endmodule
