// The carry chain of the netlist's simulation. Yosys's own model lets the vector CO depend on itself, which Verilator
// 5.006 evaluates wrongly without a warning; here each carry is a signal of its own.
module CARRY4 (
  output [3:0] CO,
  output [3:0] O,
  input        CI,
  input        CYINIT,
  input  [3:0] DI,
  input  [3:0] S
);
  wire start = CI | CYINIT;
  wire carry0 = S[0] ? start : DI[0];
  wire carry1 = S[1] ? carry0 : DI[1];
  wire carry2 = S[2] ? carry1 : DI[2];
  wire carry3 = S[3] ? carry2 : DI[3];
  assign CO = {carry3, carry2, carry1, carry0};
  assign O = S ^ {carry2, carry1, carry0, start};
endmodule
