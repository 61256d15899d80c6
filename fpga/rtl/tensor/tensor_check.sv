// Whether the fields of a command are in range, as CheckTensorCommand of fpga/model/tensor_program.cc says. What depends on
// products of fields is found by the addresses that they lead to. The answer comes one cycle behind the command.
module tensor_check #(
  parameter int LANES       = 16,
  parameter int ACTIVATIONS = 16384,
  parameter int LINE        = 512,
  parameter int KEPT        = 8192,
  parameter int BFLOAT16    = 0,     // 1: a CONVOLVE may have that precision
  parameter int INT16       = 0,     // the same
  parameter int INT32       = 0,
  parameter int FLOAT32     = 0
) (
  input  logic         clk_i,
  input  logic [511:0] command_i,
  input  logic [31:0]  input_words_i,   // of the buffers
  input  logic [31:0]  output_words_i,
  output logic [2:0]   status_o
);
  localparam int SHIFT = $clog2(LANES / 8);

  wire [7:0]         opcode         = command_i[7:0];
  wire [7:0]         precision      = command_i[15:8];
  wire               with_residual  = command_i[18];
  wire               from_output    = command_i[17];
  wire [15:0]        input_blocks   = command_i[47:32];
  wire [15:0]        output_blocks  = command_i[63:48];
  wire [31:0]        input_address  = command_i[64+:32];
  wire [31:0]        input_plane    = command_i[96+:32];
  wire signed [15:0] origin_y       = command_i[160+:16];
  wire signed [15:0] origin_x       = command_i[176+:16];
  wire [15:0]        out_width      = command_i[208+:16];
  wire [7:0]         kernel_height  = command_i[224+:8];
  wire [7:0]         kernel_width   = command_i[232+:8];
  wire [7:0]         stride_y       = command_i[240+:8];
  wire [7:0]         stride_x       = command_i[248+:8];
  wire [31:0]        output_address = command_i[256+:32];
  wire [31:0]        output_plane   = command_i[288+:32];
  wire [31:0]        residual_address = command_i[320+:32];
  wire [31:0]        residual_plane   = command_i[352+:32];
  wire [31:0]        kept_address     = command_i[480+:32];
  wire               unused = &{1'b0, command_i, output_plane, residual_plane};

  wire convolve  = opcode == tensor_pkg::CONVOLVE;
  wire depthwise = opcode == tensor_pkg::DEPTHWISE;
  wire load      = opcode == tensor_pkg::LOAD;
  wire store     = opcode == tensor_pkg::STORE;
  wire keep      = opcode == tensor_pkg::KEEP;

  function automatic logic upto(input logic [15:0] value, input logic [15:0] most);
    upto = value != '0 && value <= most;
  endfunction
  function automatic logic near(input logic signed [15:0] origin);
    near = origin > -16'sd1024 && origin < 16'sd1024;
  endfunction

  // int8 and precisions of 32 bits have flags up to bit 3, the others one more; only int8 has a residual.
  wire other   = (BFLOAT16 != 0 && precision == tensor_pkg::BFLOAT16) || (INT16 != 0 && precision == tensor_pkg::INT16);
  wire wide    = (INT32 != 0 && precision == tensor_pkg::INT32) || (FLOAT32 != 0 && precision == tensor_pkg::FLOAT32);
  wire precise = precision == tensor_pkg::INT8 ? command_i[31:20] == '0
    : (other || wide) && convolve && !with_residual && command_i[31:21] == '0 && !(wide && command_i[20]);

  // Sides: rows and columns of input and output.
  logic sides, strides, places, depthwise_fits;
  always_comb begin
    sides = 1'b1;
    for (int i = 0; i < 2; i++) begin
      sides = sides & upto(command_i[128+16*i+:16], 16'd1024) & upto(command_i[192+16*i+:16], 16'd1024);
    end
    strides = upto({8'd0, stride_y}, depthwise ? 16'd2 : 16'd8) & upto({8'd0, stride_x}, depthwise ? 16'd2 : 16'd8);
    places  = input_address < 32'(ACTIVATIONS) && output_address < 32'(ACTIVATIONS) &&
              residual_address < 32'(ACTIVATIONS) && input_plane[31:17] == '0 && output_plane[31:17] == '0 &&
              residual_plane[31:17] == '0;
    depthwise_fits = kernel_height == 8'd3 && kernel_width == 8'd3 && !with_residual &&
                     (17'(out_width - 16'd1) << stride_x[1]) + 17'd3 <= 17'(LINE);
  end
  wire computes = sides & strides & places & near(origin_y) & near(origin_x) & (kernel_height != '0) &
                  (kernel_width != '0) & upto(input_blocks, convolve ? 16'd256 : 16'd1) &
                  upto(output_blocks, 16'd256) & (~depthwise | depthwise_fits);

  wire [31:0] on_chip   = load ? output_address : input_address;
  wire [31:0] in_buffer = load ? input_address : output_address;
  wire [31:0] room      = load & ~from_output ? input_words_i : output_words_i;
  wire transfers = (input_plane != '0) & (33'(on_chip) + 33'(input_plane) <= 33'(ACTIVATIONS)) &
                   (36'(in_buffer) + (36'(input_plane) << SHIFT) <= 36'(room));

  wire keeps = (input_plane != '0) & (33'(kept_address) + 33'(input_plane) <= 33'(KEPT));

  always_ff @(posedge clk_i) begin
    if (opcode > tensor_pkg::KEEP || !precise) status_o <= tensor_pkg::BAD_FIELD;
    else if (opcode == tensor_pkg::END) status_o <= tensor_pkg::OK;
    else if (load || store) status_o <= transfers ? tensor_pkg::OK : tensor_pkg::BAD_ADDRESS;
    else if (keep) status_o <= keeps ? tensor_pkg::OK : tensor_pkg::BAD_ADDRESS;
    else if (!computes) status_o <= tensor_pkg::BAD_FIELD;
    else status_o <= command_i[19] && kept_address >= 32'(KEPT) ? tensor_pkg::BAD_ADDRESS : tensor_pkg::OK;
  end
endmodule
