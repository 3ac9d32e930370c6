"""`fusemark explain`: one row for each kind of kernel and each custom call."""
import json

import cli_case
from cli_case import CliTest


class Explain(CliTest):
    # Alike but for the depth of the sums.
    PRODUCTS = """HloModule products
ENTRY main {
  x = f32[64,32] parameter(0)
  w = f32[32,48] parameter(1)
  y = f32[64,96] parameter(2)
  v = f32[96,48] parameter(3)
  d = f32[64,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,48] dot(y, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[64,48] tanh(d)
  b = f32[64,48] tanh(e)
  ROOT r = (f32[64,48], f32[64,48]) tuple(a, b)
}
"""

    def test_kernels_of_unlike_work_have_their_own_rows(self):
        products = self.write("products.hlo", self.PRODUCTS)
        done = self.expect(0, "", "explain", products, "--threads", "1")
        rows = [line.split() for line in done.stdout.splitlines() if "contraction" in line]
        self.assertEqual([row[:2] for row in rows], [["1", "contraction"]] * 2, done.stdout)
        self.assertIn("2 kernels of 2 kinds", done.stdout)

    def test_the_document_counts_every_kernel(self):
        products = self.write("products.hlo", self.PRODUCTS)
        done = self.expect(0, "", "explain", products, "--threads", "1", "--format", "json")
        kernels = json.loads(done.stdout)["kernels"]
        self.assertEqual([kernel["class"] for kernel in kernels], ["contraction"] * 2)
        self.assertEqual(kernels[1]["flops"] - kernels[0]["flops"], 2 * 64 * 48 * 64)

    def test_clusters_around_an_unknown_call(self):
        calls = self.write("calls.hlo", """HloModule calls
ENTRY main {
  x = f32[8,8] parameter(0)
  y = f32[8,8] tanh(x)
  c = f32[8,8] custom-call(y), custom_call_target="who_knows"
  z = f32[8,8] exponential(c)
  q = (f32[8,8], f32[8]) custom-call(z), custom_call_target="Qr"
  a = f32[8,8] get-tuple-element(q), index=0
  ROOT r = f32[8,8] add(a, x)
}
""")
        done = self.expect(0, "", "explain", calls, "--threads", "1")
        self.assertIn("3 clusters of compiled kernels around 2 custom calls", done.stdout)
        self.assertIn("1 of the calls cannot be run", done.stdout)
        done = self.expect(0, "", "explain", calls, "--threads", "1", "--format", "json")
        document = json.loads(done.stdout)
        self.assertEqual([kernel["cluster"] for kernel in document["kernels"]], [0, 1, 2])
        self.assertEqual([call["runs"] for call in document["custom_calls"]], [False, True])
        self.expect(4, "custom-call of target 'who_knows' cannot be run", "run", calls)

    def test_an_activation_is_computed_in_its_product(self):
        done = self.expect(0, "", "explain", self.write("products.hlo", self.PRODUCTS))
        self.assertRegex(done.stdout, r"dot, tanh")

    def test_measured_times_stand_beside_the_limits(self):
        products = self.write("products.hlo", self.PRODUCTS)
        done = self.expect(0, "", "explain", products, "--threads", "1", "--measure")
        self.assertRegex(done.stdout, r"at least +share +measured +of limit")
        self.assertRegex(done.stdout, r"measured, median of \d+ runs: [\d.]+ ms in kernels")
        done = self.expect(0, "", "explain", products, "--threads", "1", "--measure",
                           "--resident", "1,3", "--format", "json")
        document = json.loads(done.stdout)
        times = [kernel["measured_ns"] for kernel in document["kernels"]]
        self.assertTrue(all(time > 0 for time in times), times)
        self.assertGreaterEqual(document["measured"]["runs"], 3)
        self.assertLess(sum(times), 2 * document["measured"]["run_ns"])
        self.expect(2, "resident parameter 7", "explain", products, "--resident", "7")


if __name__ == "__main__":
    cli_case.main()
