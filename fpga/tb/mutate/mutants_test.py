#!/usr/bin/env python3
"""Which faults mutants.py draws, and which text it leaves alone."""

import unittest

import mutants

MODULE = """// A comment with a + b.
module counter #(
  parameter int WIDTH = 8
) (
  input  logic clk_i,
  input  logic rst_ni,
  output logic [WIDTH-1:0] count_o
);
  localparam int LAST = WIDTH - 1;
  logic [WIDTH-1:0] count_q;
  wire full = count_q[LAST:0] == 8'hff;   // of a + b
  assign count_o = count_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) count_q <= '0;
    else if (!full) count_q <= count_q + 8'd1;
    for (int i = 0; i < 2; i++) bits_q[i] <= bits_q[i] & full;
  end

  other u_other (.clk_i, .enable_i(full & rst_ni), .plain_i(full));
endmodule
"""


def mutated(expression):
    return mutants.variants(expression)


class Variants(unittest.TestCase):
    def test_swap_a_binary_operator(self):
        self.assertEqual(mutated("a + b"), ["a - b"])

    def test_drop_a_negation(self):
        self.assertEqual(mutated("!a"), ["a"])

    def test_swap_a_reduction(self):
        self.assertEqual(mutated("|a"), ["&a"])

    def test_change_constants_within_their_width(self):
        self.assertEqual(mutated("2'd3"), ["2'd0"])
        self.assertEqual(mutated("'0"), ["'1"])
        self.assertEqual(mutated("8'h0f"), ["8'h10"])

    def test_leave_indices_and_casts_alone(self):
        self.assertEqual(mutated("a[i + 1]"), [])
        self.assertEqual(mutated("9'(a)"), [])

    def test_leave_a_negative_sign_alone(self):
        self.assertEqual(mutated("-a"), [])


class Sites(unittest.TestCase):
    def setUp(self):
        self.expressions = [MODULE[site.begin:site.end] for site in mutants.sites_of(MODULE)]

    def test_are_what_the_hardware_computes(self):
        self.assertEqual(self.expressions, ["count_q[LAST:0] == 8'hff", "count_q", "!rst_ni", "'0", "!full", "count_q + 8'd1",
                                            "bits_q[i] & full", "full & rst_ni"])

    def test_give_mutants_with_their_lines(self):
        drawn = {(mutant.line, mutant.mutated) for mutant in mutants.mutants_of("counter.sv", MODULE)}
        self.assertIn((11, "count_q[LAST:0] != 8'hff"), drawn)
        self.assertIn((15, "'1"), drawn)
        self.assertIn((15, "1'b1"), drawn)
        self.assertIn((16, "count_q"), drawn)


class Selectable(unittest.TestCase):
    def test_chooses_between_the_mutants_of_a_site(self):
        chosen = [mutant for mutant in mutants.mutants_of("counter.sv", MODULE) if mutant.original == "'0"]
        text = mutants.selectable(MODULE, list(enumerate(chosen, 1)), "n")
        self.assertIn("count_q <= (n == 2) ? (count_q) : ((n == 1) ? ('1) : ('0));", text)

    def test_keys_outlive_a_change_of_lines(self):
        first = mutants.mutants_of("counter.sv", MODULE)[0]
        moved = mutants.mutants_of("counter.sv", "\n\n" + MODULE)[0]
        self.assertEqual(first.key(), moved.key())


if __name__ == "__main__":
    unittest.main()
