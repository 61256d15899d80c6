// Assertions on the slave's side of an AXI4-Lite port: a request is taken as soon as no other one waits for its answer,
// each one is answered once, in the cycle after it was taken, and the answer stays until the host takes it. Synthesis
// removes it; simulation and the proofs check it.
module axi_lite_check (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        awvalid_i,
  input logic        awready_i,
  input logic        wvalid_i,
  input logic        wready_i,
  input logic [1:0]  bresp_i,
  input logic        bvalid_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic        arready_i,
  input logic [31:0] rdata_i,
  input logic [1:0]  rresp_i,
  input logic        rvalid_i,
  input logic        rready_i
);
  logic address_taken_q = 1'b0, data_taken_q = 1'b0;  // of a write that was not answered yet
  logic read_taken_q = 1'b0;                          // and a read

  wire written = bvalid_i & bready_i;
  wire was_read = rvalid_i & rready_i;

  always_ff @(posedge clk_i) begin
    address_taken_q <= rst_ni && ((awvalid_i && awready_i) || (address_taken_q && !written));
    data_taken_q    <= rst_ni && ((wvalid_i && wready_i) || (data_taken_q && !written));
    read_taken_q    <= rst_ni && ((arvalid_i && arready_i) || (read_taken_q && !was_read));

    if (rst_ni) begin
      write_is_answered : assert (bvalid_i == (address_taken_q && data_taken_q));
      read_is_answered : assert (rvalid_i == read_taken_q);
      if (awvalid_i && awready_i) one_write_address : assert (!address_taken_q || written);
      if (wvalid_i && wready_i) one_write_word : assert (!data_taken_q || written);
      if (arvalid_i && arready_i) one_read : assert (!read_taken_q || was_read);
      if (awvalid_i && wvalid_i && (!bvalid_i || bready_i)) write_is_taken : assert (awready_i && wready_i);
      if (arvalid_i && (!rvalid_i || rready_i)) read_is_taken : assert (arready_i);
    end
  end

  stream_check #(.WIDTH(2)) check_write_answer (
    .clk_i, .rst_ni, .data_i(bresp_i), .valid_i(bvalid_i), .ready_i(bready_i)
  );
  stream_check #(.WIDTH(34)) check_read_answer (
    .clk_i, .rst_ni, .data_i({rdata_i, rresp_i}), .valid_i(rvalid_i), .ready_i(rready_i)
  );
endmodule
