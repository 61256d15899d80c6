// The largest or the sum of the vectors of a window, lane by lane. A vector per cycle.
module tensor_pool #(
  parameter int LANES = 16
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                sum_i,     // else the largest
  input  logic                valid_i,
  input  logic                first_i,   // of a window
  input  logic                output_i,  // the last one of a window
  input  logic                first_output_i,
  input  logic [8*LANES-1:0]  vector_i,
  // One cycle behind the last vector. A sum of 255 × 255 values has 24 bits.
  output logic                valid_o,
  output logic                first_o,
  output logic [24*LANES-1:0] results_o
);
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      for (int i = 0; i < LANES; i++) begin
        if (first_i || (!sum_i && signed'(vector_i[8*i+:8]) > signed'(results_o[24*i+:8]))) begin
          results_o[24*i+:24] <= 24'(signed'(vector_i[8*i+:8]));
        end else if (sum_i) begin
          results_o[24*i+:24] <= results_o[24*i+:24] + 24'(signed'(vector_i[8*i+:8]));
        end
      end
    end
    valid_o <= rst_ni & valid_i & output_i;
    first_o <= first_output_i;
  end
endmodule
