// LOAD and STORE: vectors between the device's memory and the activation memory, in words of 64 bits.
module tensor_transfer #(
  parameter int LANES       = 16,
  parameter int ACTIVATIONS = 16384,
  parameter int AW          = $clog2(ACTIVATIONS)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [511:0]       command_i,
  input  logic               start_i,        // a LOAD or STORE that was checked
  output logic               busy_o,
  input  logic [63:0]        input_base_i,   // bytes
  input  logic [63:0]        output_base_i,

  // Commands for the masters, and whether their transfers have ended.
  output logic               read_valid_o,
  output logic [63:0]        read_base_o,
  output logic [31:0]        read_words_o,
  input  logic               read_ready_i,
  input  logic [63:0]        read_data_i,
  input  logic               read_data_valid_i,
  output logic               read_data_ready_o,
  output logic               write_valid_o,
  output logic [63:0]        write_base_o,
  output logic [31:0]        write_words_o,
  input  logic               write_ready_i,
  output logic [63:0]        write_data_o,
  output logic               write_data_valid_o,
  input  logic               write_data_ready_i,

  // The activation memory: a vector comes two cycles after its address.
  output logic               put_valid_o,
  output logic [AW-1:0]      put_address_o,
  output logic [8*LANES-1:0] put_data_o,
  output logic [AW-1:0]      get_address_o,
  input  logic [8*LANES-1:0] get_data_i
);
  localparam int WORDS = LANES / 8;
  localparam int SHIFT = $clog2(WORDS);
  localparam int DEPTH = 8;  // vectors on their way from the memory

  typedef enum logic [2:0] {Idle, AskRead, Read, AskWrite, Write, Settle} state_e;
  state_e state_q;

  wire        store     = command_i[7:0] == tensor_pkg::STORE;
  wire        flip_sign = command_i[16];
  wire        from_output = command_i[17];
  wire [31:0] input_address  = command_i[64+:32];
  wire [31:0] vectors        = command_i[96+:32];
  wire [31:0] output_address = command_i[256+:32];
  wire [63:0] flips          = {8{flip_sign, 7'd0}};
  wire        unused         = &{1'b0, command_i, appended[63:0]};

  assign busy_o        = state_q != Idle;
  assign read_valid_o  = state_q == AskRead;
  assign read_base_o   = (from_output ? output_base_i : input_base_i) + {29'd0, input_address, 3'b000};
  assign read_words_o  = vectors << SHIFT;
  assign write_valid_o = state_q == AskWrite;
  assign write_base_o  = output_base_i + {29'd0, output_address, 3'b000};
  assign write_words_o = vectors << SHIFT;

  logic [AW-1:0] address_q;
  logic [AW:0]   left_q;        // vectors not yet read from the memory or written to it
  logic [2:0]    word_q;
  logic [8*LANES-1:0] put_q;
  logic          put_valid_q;
  logic [3:0]    claimed_q;     // vectors in the buffer or on their way to it

  wire last_word = word_q == 3'(WORDS - 1);
  wire got       = read_data_valid_i & read_data_ready_o;
  assign read_data_ready_o = state_q == Read;

  // STORE: a vector is asked for when the buffer has room for it.
  wire ask = (state_q == Write) & (left_q != '0) & (claimed_q != 4'(DEPTH));
  logic               arrives, arrives_q;
  logic [8*LANES-1:0] buffered;
  logic               buffered_valid, taken, unused_room;
  logic [4:0]         unused_level;
  fifo #(.WIDTH(8 * LANES), .DEPTH(DEPTH)) buffer (
    .clk_i, .rst_ni, .in_data_i(get_data_i), .in_valid_i(arrives_q), .in_ready_o(unused_room),
    .out_data_o(buffered), .out_valid_o(buffered_valid), .out_ready_i(taken), .level_o(unused_level)
  );
  wire sent = write_data_valid_o & write_data_ready_i;
  assign taken              = sent & last_word;
  assign write_data_valid_o = buffered_valid;
  assign write_data_o       = buffered[64*word_q+:64] ^ flips;
  assign get_address_o      = address_q;

  // The first word of a vector moves down to its low end.
  wire [8*LANES+63:0] appended = {read_data_i ^ flips, put_q};
  assign put_valid_o   = put_valid_q;
  assign put_address_o = address_q;
  assign put_data_o    = put_q;

  always_ff @(posedge clk_i) begin
    if (got) put_q <= appended[8*LANES+63:64];
    if (start_i) begin
      address_q <= store ? input_address[AW-1:0] : output_address[AW-1:0];
      left_q    <= vectors[AW:0];
    end else if (put_valid_q || ask) begin
      address_q <= address_q + 1'b1;
      left_q    <= left_q - 1'b1;
    end
    if (start_i) word_q <= '0;
    else if (got || sent) word_q <= last_word ? '0 : word_q + 3'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= Idle;
      put_valid_q <= 1'b0;
      arrives     <= 1'b0;
      arrives_q   <= 1'b0;
      claimed_q   <= '0;
    end else begin
      put_valid_q <= got & last_word;
      arrives     <= ask;
      arrives_q   <= arrives;
      claimed_q   <= claimed_q + 4'(ask) - 4'(taken);
      unique case (state_q)
        Idle:     if (start_i) state_q <= store ? AskWrite : AskRead;
        AskRead:  if (read_ready_i) state_q <= Read;
        Read:     if (left_q == '0) state_q <= Idle;
        AskWrite: if (write_ready_i) state_q <= Write;
        Write:    if (left_q == '0 && claimed_q == '0) state_q <= Settle;
        Settle:   if (write_ready_i) state_q <= Idle;
        default:  state_q <= Idle;
      endcase
    end
  end
endmodule
