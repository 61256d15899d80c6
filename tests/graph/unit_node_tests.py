#!/usr/bin/python3
"""ONNX's own tests of single nodes on the tensor unit, quantised by the command: on the software device through XRT, and on the golden model.

usage: unit_node_tests.py TRIBUTARY TRIBUTARY-XCLBIN XRT-FOLDER [--list]
Exit status: 0 all is well, 1 faults (one line each), 77 without python3-onnx.

Every test of an operation that the unit has is quantised on its own inputs and on others with the same elements, for activations of
uint8 and of int8. Then it runs with --strict on both, on its inputs and on the last of the others: with the same bits, and with results as near to those that ONNX states as
quantisation allows (error_bounds.py). The commands must refuse the tests in LEFT_OUT, each for its reason. A test that is computed must be
taken off that list. --list prints what each test gave.

A node that is no product gets its operands from products with the identity, as a layer gets them from the layer before. A sum or an
activation may become a part of that layer, so it has a second form, "shown", in which the operands are outputs as well.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import error_bounds
    import integer_node_tests
    import numpy as np
    import onnx
    import onnx_node_tests
    from onnx import helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PRODUCTS = {"Conv", "MatMul", "Gemm"}
ACTIVATED = {"Add", "Relu", "Clip"}  # may be a part of the layer before
OTHERS = ACTIVATED | {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool",
          "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Dropout"}
EXAMPLES = 8

# By what the commands say, the tests that they must refuse. A name with a form behind it is of this form only.
LEFT_OUT = {
    # Bytes without a scale, one dimension, three spatial ones, products of more than two matrices, a transposed operand.
    "nothing can be quantised": {
        "add_uint8", "averagepool_3d_default", "clip_default_inbounds", "clip_default_int8_inbounds", "clip_default_int8_max",
        "clip_default_int8_min", "clip_example", "clip_inbounds", "clip_outbounds", "clip_splitbounds", "dropout_default_old", "gemm_all_attributes",
        "gemm_transposeA", "matmul_3d", "matmul_4d", "maxpool_2d_uint8", "maxpool_3d_default"},
    # The other operand, or the result, has no tensor of two to four dimensions.
    "it is not between quantised values": {
        "add_bcast", "reshape_one_dim", "unsqueeze_negative_axes", "unsqueeze_three_axes", "unsqueeze_two_axes", "unsqueeze_unsorted_axes"},
    "windows at the edge have another divisor": {
        "averagepool_2d_ceil", "averagepool_2d_pads", "averagepool_2d_precomputed_pads", "averagepool_2d_precomputed_same_upper",
        "averagepool_2d_same_lower", "averagepool_2d_same_upper"},
    "it moves elements to other channels": {
        "flatten_axis0", "flatten_axis1", "flatten_axis2", "flatten_axis3", "flatten_default_axis", "flatten_negative_axis1",
        "flatten_negative_axis2", "flatten_negative_axis3", "flatten_negative_axis4", "reshape_negative_dim", "reshape_negative_extended_dims",
        "reshape_reduced_dims", "reshape_reordered_all_dims", "reshape_reordered_last_dims", "squeeze", "unsqueeze_axis_0", "unsqueeze_axis_1"},
    "it moves elements to other places": {
        "transpose_all_permutations_1", "transpose_all_permutations_2", "transpose_all_permutations_3", "transpose_all_permutations_4",
        "transpose_all_permutations_5", "transpose_default"},
    "the bias is not one of channels": {"gemm_default_matrix_bias"},
    "the mask is not given": {"dropout_default_mask", "dropout_default_mask_ratio"},
    "dropout for training is not taken": {
        "training_dropout", "training_dropout_default", "training_dropout_default_mask", "training_dropout_mask", "training_dropout_zero_ratio",
        "training_dropout_zero_ratio_mask"},
    "2 outputs; it gives 1": {"maxpool_with_argmax_2d_precomputed_pads"},
    "storage_order must be 0": {"maxpool_with_argmax_2d_precomputed_strides"},
    "its window has gaps": {"maxpool_2d_dilations"},
    # No element.
    "examples for the input": {"reshape_allowzero_reordered"},
    # The operand's range is twice that of the result.
    "is not within (0, 2)": {"clip shown", "clip_default_max shown", "clip_default_min shown", "relu shown"},
    "the weights less their zero points are not all from -128 to 127": {"qlinearconv", "qlinearmatmul_2D"},
    "only products of two matrices": {"qlinearmatmul_3D", "qlinearmatmul_3D weights of int8", "qlinearmatmul_3D weights of uint8"},
}


class Refused(Exception):
    """What a command said."""


class Commands:
    def __init__(self, tributary, xclbin):
        self.tributary, self.xclbin = tributary, xclbin

    def said(self, *words):
        done = subprocess.run([self.tributary, "model", *map(str, words), "--json"], capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        return json.loads(done.stdout)

    def quantise(self, model, examples, activations, folder):
        """The quantised model."""
        source, quantised = folder / "floats.onnx", folder / "quantised.onnx"
        source.write_bytes(model.SerializeToString())
        words = ["quantise", source, "--out", quantised, "--activations", activations]
        for number, (name, values) in enumerate(examples.items()):
            np.save(folder / f"examples{number}.npy", values)
            words += ["--calibration", f"{name}={folder / f'examples{number}.npy'}"]
        self.said(*words)
        return onnx.load(str(quantised))

    def run(self, model, inputs, folder):
        """The outputs by name, on the golden model and on the software device."""
        path, given = folder / "run.onnx", []
        path.write_bytes(model.SerializeToString())
        for number, (name, values) in enumerate(inputs.items()):
            np.save(folder / f"in{number}.npy", values)
            given += ["--input", f"{name}={folder / f'in{number}.npy'}"]
        results = []
        for target in (("tensor-model",), ("xrt", "--xclbin", self.xclbin)):
            said = self.said("run", path, "--strict", "--accelerator", *target, *given, "--out", folder / target[0])
            results.append({port["name"]: np.load(file) for port, file in zip(said["outputs"], said["files"])})
            if said["accelerator"]["nodes"] == 0:
                raise Refused("nothing is quantised")
        return results


def identity(name, values, graph):
    """Adds the product of an operand with the identity, by its rank; the name of the result."""
    channels = values.shape[1] if values.ndim > 1 else 0
    if values.dtype != np.float32 or not 2 <= values.ndim <= 4 or channels == 0:
        return name
    weights = np.eye(channels, dtype=np.float32)
    if values.ndim > 2:
        weights = weights.reshape(weights.shape + (1,) * (values.ndim - 2))
    graph.initializer.append(numpy_helper.from_array(weights, f"{name}_identity"))
    operation = "MatMul" if values.ndim == 2 else "Conv"
    graph.node.append(helper.make_node(operation, [name, f"{name}_identity"], [f"{name}_same"], name=f"{name}_same"))
    return f"{name}_same"


def prepared(case, shown):
    """The test's model with what is no operand as constants, and its inputs by name. `shown`: operands are outputs, too."""
    model, left = onnx_node_tests.with_constants(case, case.data_sets[0][0])
    given = dict(zip((port.name for port in model.graph.input), left))
    node = next(node for node in model.graph.node if node.op_type != "Constant")
    operands = set(node.input[:2 if node.op_type == "Add" else 1])
    for port in list(model.graph.input):
        if port.name not in operands:
            model.graph.input.remove(port)
            model.graph.initializer.append(numpy_helper.from_array(given.pop(port.name), port.name))
    set_of = next(each for each in model.opset_import if each.domain in ("", "ai.onnx"))
    set_of.version = max(set_of.version, 13)
    node.name = case.name
    if node.op_type in PRODUCTS:
        return model, given
    nodes = list(model.graph.node)
    del model.graph.node[:]
    same = {name: identity(name, values, model.graph) for name, values in given.items()}
    for i, name in enumerate(node.input):
        node.input[i] = same.get(name, name)
    model.graph.node.extend(nodes)
    if shown:
        model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in same.values() if name not in given)
    return model, given


def examples_of(given, seed):
    """The inputs, then others with the same elements elsewhere: the same range."""
    random = np.random.default_rng(seed)
    return {name: np.concatenate([values] + [random.permutation(values.ravel()).reshape(values.shape) for _ in range(EXAMPLES - 1)])
            if values.ndim else values for name, values in given.items()}


def joined(models):
    """One model of several, whose names get the key of each as a prefix."""
    whole = onnx.ModelProto()
    for prefix, model in models.items():
        part = onnx.ModelProto()
        part.CopyFrom(model)
        for node in part.graph.node:
            node.name = prefix + node.name
            node.input[:] = [name and prefix + name for name in node.input]
            node.output[:] = [prefix + name for name in node.output]
        for named in (*part.graph.initializer, *part.graph.input, *part.graph.output):
            named.name = prefix + named.name
        del part.graph.value_info[:]
        if whole.graph.node:
            del part.opset_import[:]
        whole.MergeFrom(part)
    return whole


def compute(commands, case, shown, folder):
    """For each type of activations: what is wrong, the greatest error in steps, and as a share of what quantisation allows. Raises Refused."""
    model, given = prepared(case, shown)
    examples = examples_of(given, len(case.name))
    shuffled = {name: values[-len(given[name]):] for name, values in examples.items()}
    quantised = {activations: commands.quantise(model, examples, activations, folder) for activations in ("uint8", "int8")}
    copies, inputs = {}, {}
    for activations, graph in quantised.items():
        for order, values in (("given", given), ("shuffled", shuffled)):
            prefix = f"{activations}_{order}_"
            copies[prefix] = graph
            inputs |= {prefix + name: array for name, array in values.items()}
    golden, unit = commands.run(joined(copies), inputs, folder)
    expected, output = np.asarray(case.data_sets[0][1][0]), model.graph.output[0].name
    results = []
    for activations, graph in quantised.items():
        different = error_bounds.different_bits(golden, unit, activations + "_")
        wrong, *measured = error_bounds.difference(graph, model, given, unit[f"{activations}_given_{output}"], expected)
        results.append((activations, different or wrong, *measured))
    return results


def forms_of(case, operation):
    """Names of what the test is run as, and functions of commands and folder that give what compute gives."""
    if operation in integer_node_tests.OPERATIONS:
        for name, arrays, expected in integer_node_tests.variants(case):
            yield name, lambda commands, folder, a=arrays, e=expected: integer_node_tests.compute(commands, case, a, e, folder)
        return
    for form in ("", "shown") if operation in ACTIVATED else ("",):
        yield form, lambda commands, folder, shown=bool(form): compute(commands, case, shown, folder)


def reasons_for(name, form):
    """The reasons under which LEFT_OUT has the form of a test."""
    labels = {f"{name} {form}".strip()} | ({name} if form == "shown" else set())
    return {reason for reason, names in LEFT_OUT.items() if labels & names}


class Outcome:
    """What the forms of a test gave."""

    def __init__(self, commands, case, operation):
        self.name, self.faults, self.reasons, self.computed, self.refused = case.name.removeprefix("test_"), [], set(), 0, 0
        self.steps = self.share = 0.0
        for form, run in forms_of(case, operation):
            label = f"{self.name} {form}".strip()
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    results = run(commands, pathlib.Path(scratch))
            except Refused as refusal:
                self.refused += 1
                reasons = {reason for reason in reasons_for(self.name, form) if reason in str(refusal)}
                self.reasons |= reasons
                if not reasons:
                    self.faults.append(f"{label} was refused: {refusal}")
                continue
            for activations, wrong, steps, share in results:
                self.computed += 1
                self.steps, self.share = max(self.steps, steps), max(self.share, share)
                if wrong:
                    self.faults.append(f"{label} {activations}: {wrong}")
            if reasons_for(self.name, form):
                self.faults.append(f"{label} is computed: take it off LEFT_OUT")

    def __str__(self):
        reasons = f"; {self.refused} left out: {', '.join(sorted(self.reasons))}" if self.refused else ""
        return f"{self.name}: {self.computed} forms, {self.steps:.2f} steps, {100 * self.share:.0f} % of what quantisation allows{reasons}"


def operation_of(case):
    """The test's only operation, if the unit may compute it; else None."""
    operations = {node.op_type for node in case.model.graph.node} - {"Constant"}
    arrays = all(isinstance(value, np.ndarray) for value in case.data_sets[0][0])
    return operations.pop() if arrays and len(operations) == 1 and operations <= PRODUCTS | OTHERS | integer_node_tests.OPERATIONS else None


def main():
    tributary, tributary_xclbin, listed = sys.argv[1], sys.argv[2], "--list" in sys.argv
    os.environ["XILINX_XRT"] = sys.argv[3]
    os.environ.pop("TRIBUTARY_DEVICE_FAULTS", None)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        xclbin = pathlib.Path(scratch) / "tensor.xclbin"
        subprocess.run([tributary_xclbin, "--output", xclbin, "--kernel", "tensor_kernel"], check=True, capture_output=True)
        commands = Commands(tributary, xclbin)
        waiting = [pool.submit(Outcome, commands, case, operation) for case in onnx_node_tests.cases() if (operation := operation_of(case))]
        outcomes = [outcome.result() for outcome in waiting]
    left_out = collections.Counter(reason for outcome in outcomes if not outcome.computed for reason in outcome.reasons)
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    listed_names = {label.split()[0] for labels in LEFT_OUT.values() for label in labels}
    faults += [f"LEFT_OUT has {name}, which is no test" for name in sorted(listed_names - {outcome.name for outcome in outcomes})]
    if listed:
        print(*outcomes, sep="\n")
    print(f"{len(outcomes)} tests: {sum(outcome.computed > 0 for outcome in outcomes)} on the unit, in {sum(o.computed for o in outcomes)} forms with the bits of "
          f"the golden model; at most {max(o.steps for o in outcomes):.2f} steps from ONNX, and {100 * max(o.share for o in outcomes):.0f} % of what quantisation allows")
    for reason, count in sorted(left_out.items()):
        print(f"left out, \"{reason}\": {count}")
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults or not any(outcome.computed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
