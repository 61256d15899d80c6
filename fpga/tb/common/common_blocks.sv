// All common stream blocks in one top: one Verilated model serves their bench.
module common_blocks (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [15:0] skid_in_data_i,
  input  logic        skid_in_valid_i,
  output logic        skid_in_ready_o,
  output logic [15:0] skid_out_data_o,
  output logic        skid_out_valid_o,
  input  logic        skid_out_ready_i,

  input  logic [15:0] fifo_in_data_i,
  input  logic        fifo_in_valid_i,
  output logic        fifo_in_ready_o,
  output logic [15:0] fifo_out_data_o,
  output logic        fifo_out_valid_o,
  input  logic        fifo_out_ready_i,
  output logic [5:0]  fifo_level_o,

  input  logic [15:0] pack_in_data_i,
  input  logic        pack_in_last_i,
  input  logic        pack_in_valid_i,
  output logic        pack_in_ready_o,
  output logic [63:0] pack_out_data_o,
  output logic        pack_out_valid_o,
  input  logic        pack_out_ready_i,

  input  logic [63:0] unpack_in_data_i,
  input  logic        unpack_in_valid_i,
  output logic        unpack_in_ready_o,
  output logic [15:0] unpack_out_data_o,
  output logic        unpack_out_valid_o,
  input  logic        unpack_out_ready_i,

  input  logic [47:0] arbiter_in_data_i,
  input  logic [2:0]  arbiter_in_valid_i,
  output logic [2:0]  arbiter_in_ready_o,
  output logic [15:0] arbiter_out_data_o,
  output logic [1:0]  arbiter_out_source_o,
  output logic        arbiter_out_valid_o,
  input  logic        arbiter_out_ready_i,

  input  logic        delay_bit_i,
  output logic        delay_bit_o,
  input  logic        line_en_i,
  input  logic [7:0]  line_data_i,
  output logic [7:0]  line_data_o,

  input  logic        mac_en_i,
  input  logic        mac_first_i,
  input  logic [24:0] mac_a_i,
  input  logic [17:0] mac_b_i,
  input  logic [47:0] mac_c_i,
  output logic [47:0] mac_sum_e1_o,
  output logic [47:0] mac_sum_e2_o,
  output logic [47:0] mac_chain_o
);
  skid_buffer #(.WIDTH(16)) u_skid (
    .clk_i, .rst_ni, .in_data_i(skid_in_data_i), .in_valid_i(skid_in_valid_i), .in_ready_o(skid_in_ready_o),
    .out_data_o(skid_out_data_o), .out_valid_o(skid_out_valid_o), .out_ready_i(skid_out_ready_i)
  );
  fifo #(.WIDTH(16), .DEPTH(16)) u_fifo (
    .clk_i, .rst_ni, .in_data_i(fifo_in_data_i), .in_valid_i(fifo_in_valid_i), .in_ready_o(fifo_in_ready_o),
    .out_data_o(fifo_out_data_o), .out_valid_o(fifo_out_valid_o), .out_ready_i(fifo_out_ready_i),
    .level_o(fifo_level_o)
  );
  stream_pack #(.WIDTH(16), .COUNT(4)) u_pack (
    .clk_i, .rst_ni, .in_data_i(pack_in_data_i), .in_last_i(pack_in_last_i), .in_valid_i(pack_in_valid_i),
    .in_ready_o(pack_in_ready_o), .out_data_o(pack_out_data_o), .out_valid_o(pack_out_valid_o),
    .out_ready_i(pack_out_ready_i)
  );
  stream_unpack #(.WIDTH(16), .COUNT(4)) u_unpack (
    .clk_i, .rst_ni, .in_data_i(unpack_in_data_i), .in_valid_i(unpack_in_valid_i),
    .in_ready_o(unpack_in_ready_o), .out_data_o(unpack_out_data_o), .out_valid_o(unpack_out_valid_o),
    .out_ready_i(unpack_out_ready_i)
  );
  // Three sources: not a power of two.
  round_robin_arbiter #(.SOURCES(3), .WIDTH(16)) u_arbiter (
    .clk_i, .rst_ni, .in_data_i(arbiter_in_data_i), .in_valid_i(arbiter_in_valid_i),
    .in_ready_o(arbiter_in_ready_o), .out_data_o(arbiter_out_data_o), .out_source_o(arbiter_out_source_o),
    .out_valid_o(arbiter_out_valid_o), .out_ready_i(arbiter_out_ready_i)
  );

  delay #(.CYCLES(3)) u_delay (.clk_i, .rst_ni, .bit_i(delay_bit_i), .bit_o(delay_bit_o));
  delay_line #(.WIDTH(8), .DEPTH(3)) u_line (
    .clk_i, .en_i(line_en_i), .data_i(line_data_i), .data_o(line_data_o)
  );

  // A running sum in either DSP, and a chain of two: c + a·b + (a·b of one cycle earlier).
  mac_dsp48e1 #(.ACCUMULATE(1'b1)) u_sum_e1 (
    .clk_i, .en_i(mac_en_i), .first_i(mac_first_i), .a_i(mac_a_i), .b_i(mac_b_i), .c_i(mac_c_i), .p_o(mac_sum_e1_o)
  );
  mac_dsp48e2 #(.A_WIDTH(25), .ACCUMULATE(1'b1)) u_sum_e2 (
    .clk_i, .en_i(mac_en_i), .first_i(mac_first_i), .a_i(mac_a_i), .b_i(mac_b_i), .c_i(mac_c_i), .p_o(mac_sum_e2_o)
  );
  logic [47:0] link;
  mac_dsp48e1 u_chain_first (
    .clk_i, .en_i(mac_en_i), .first_i(1'b0), .a_i(mac_a_i), .b_i(mac_b_i), .c_i(mac_c_i), .p_o(link)
  );
  mac_dsp48e1 u_chain_second (
    .clk_i, .en_i(mac_en_i), .first_i(1'b0), .a_i(mac_a_i), .b_i(mac_b_i), .c_i(link), .p_o(mac_chain_o)
  );
endmodule
