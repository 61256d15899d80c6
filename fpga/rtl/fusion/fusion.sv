// Conflation of up to four Gaussian tuples in the plane, bit for bit as fpga/model/fusion_model.h: one multiplier, one
// adder and one function unit, run by a fixed program without branches (fusion_program.sv, written by
// fpga/model/fusion_rom.cc from the algorithm of fpga/model/fusion_algorithm.h).
//
// in, per fusion: panels × three words {y, x}, {l21, l11}, {0, l22} of single precision, x in the low half.
// out: the same three words for the fused tuple. A tuple that is not finite or, unless cfg_softplus_i, has an l11 or
// l22 that is not positive, makes the whole result NaN. cfg_* stay as they are while anything is inside.
module fusion #(
  parameter int FAMILY = 2  // 1: DSP48E1, 2: DSP48E2
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [2:0]  cfg_panels_i,    // 1…4
  input  logic        cfg_softplus_i,  // l11 and l22 are raw: softplus(.) + 1e-5 first
  input  logic [63:0] in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [63:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  localparam int READS = 6;  // two of the multiplier, two of the adder, function unit, output

  // Program: the step of address_q appears a cycle later.
  logic        full, refused, room, start, running_q, valid_q, finished;
  logic [7:0]  address_q;
  logic [55:0] step;
  assign start    = full && room && !running_q;
  assign finished = valid_q && step[55];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      valid_q   <= 1'b0;
      address_q <= '0;
    end else begin
      running_q <= start || (running_q && !finished);
      valid_q   <= running_q && !finished;
      address_q <= running_q && !finished ? address_q + 8'd1 : '0;
    end
  end
  fusion_program program_rom (.clk_i, .address_i(address_q), .data_o(step));

  logic [READS*8-1:0] sources;
  assign sources = {step[53:46], step[42:35], step[32:25], step[24:17], step[15:8], step[7:0]};

  // Operands: {bank, index}; 0 multiplier, 1 adder, 2 function unit, 3 input
  logic [READS*6-1:0]  index;
  logic [READS*5-1:0]  input_index;
  logic [READS*37-1:0] products, sums, function_values, inputs, operands;
  for (genvar r = 0; r < READS; r++) begin : gen_operand
    assign index[6*r+:6]       = sources[8*r+:6];
    assign input_index[5*r+:5] = sources[8*r+:5];
    always_comb begin
      unique case (sources[8*r+6+:2])
        2'd0: operands[37*r+:37] = products[37*r+:37];
        2'd1: operands[37*r+:37] = sums[37*r+:37];
        2'd2: operands[37*r+:37] = function_values[37*r+:37];
        default: operands[37*r+:37] = inputs[37*r+:37];
      endcase
    end
  end
  fusion_input #(.READS(READS)) input_bank (
    .clk_i, .rst_ni, .panels_i(cfg_panels_i), .raw_i(cfg_softplus_i), .in_data_i, .in_valid_i, .in_ready_o,
    .full_o(full), .refused_o(refused), .release_i(finished), .index_i(input_index), .values_o(inputs)
  );

  // Units
  logic        product_valid, sum_valid, function_valid;
  logic [36:0] product, sum, function_value;
  fusion_multiply #(.FAMILY(FAMILY)) multiplier (
    .clk_i, .a_i(operands[0+:37]), .b_i(operands[37+:37]), .product_o(product)
  );
  delay #(.CYCLES(4)) product_delay (.clk_i, .rst_ni, .bit_i(valid_q && step[16]), .bit_o(product_valid));
  fusion_bank #(.DEPTH(64), .READS(READS)) product_bank (
    .clk_i, .clear_i(start), .write_i(product_valid), .value_i(product), .index_i(index), .values_o(products)
  );

  fusion_add adder (
    .clk_i, .a_i(operands[2*37+:37]), .b_i(operands[3*37+:37]), .subtract_i(step[33]), .sum_o(sum)
  );
  delay #(.CYCLES(4)) sum_delay (.clk_i, .rst_ni, .bit_i(valid_q && step[34]), .bit_o(sum_valid));
  fusion_bank #(.DEPTH(64), .READS(READS)) sum_bank (
    .clk_i, .clear_i(start), .write_i(sum_valid), .value_i(sum), .index_i(index), .values_o(sums)
  );

  fusion_function #(.FAMILY(FAMILY)) functions (
    .clk_i, .x_i(operands[4*37+:37]), .function_i(step[44:43]), .pass_i(step[44] && !cfg_softplus_i),
    .value_o(function_value)
  );
  delay #(.CYCLES(9)) function_delay (.clk_i, .rst_ni, .bit_i(valid_q && step[45]), .bit_o(function_valid));
  fusion_bank #(.DEPTH(32), .READS(READS)) function_bank (
    .clk_i, .clear_i(start), .write_i(function_valid), .value_i(function_value), .index_i(index),
    .values_o(function_values)
  );

  fusion_output outputs (
    .clk_i, .rst_ni, .value_i(operands[5*37+:37]), .value_valid_i(valid_q && step[54]), .refused_i(refused),
    .room_o(room), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
