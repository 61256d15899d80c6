"""Programs of the tensor unit (fpga/model/tensor_program.h), as tensor_program_fuzz reads them."""

import struct

from seed_bytes import fill

END, LOAD, STORE, CONVOLVE, DEPTHWISE, MAX_POOL, SUM_POOL, KEEP = range(8)
RESIDUAL, KEPT, RESULTS32 = 4, 8, 16
BFLOAT16, INT16, INT32, FLOAT32 = 1, 2, 3, 4
LANES = 8
CHANNELS = struct.pack("<IHH", 7, 1 << 14, 3) * LANES

# In the order of a command's words.
FIELDS = {"opcode": "B", "precision": "B", "flags": "H", "input_blocks": "H", "output_blocks": "H", "input_address": "I", "input_plane": "I",
          "input_height": "H", "input_width": "H", "origin_y": "h", "origin_x": "h", "output_height": "H", "output_width": "H",
          "kernel_height": "B", "kernel_width": "B", "stride_y": "B", "stride_x": "B", "output_address": "I", "output_plane": "I",
          "residual_address": "I", "residual_plane": "I", "pad": "b", "zero": "b", "low": "b", "high": "b", "residual_zero": "b",
          "sum_zero": "b", "sum_low": "b", "sum_high": "b", "own_multiplier": "H", "residual_multiplier": "H", "kept_address": "I"}


def command(opcode, **fields):
    return struct.pack("<" + "".join(FIELDS.values()), *({"opcode": opcode, **fields}.get(name, 0) for name in FIELDS))


def layer(opcode, side=6, kernel=3, blocks=1, **fields):
    """From the beginning of the activations to behind it."""
    usual = {"input_blocks": blocks if opcode == CONVOLVE else 1, "output_blocks": blocks, "input_plane": side * side,
             "input_height": side, "input_width": side, "origin_y": -1, "origin_x": -1, "output_height": side, "output_width": side,
             "kernel_height": kernel, "kernel_width": kernel, "stride_y": 1, "stride_x": 1, "output_address": 100,
             "output_plane": side * side, "low": -128, "high": 127, "sum_low": -128, "sum_high": 127, "own_multiplier": 1 << 14,
             "residual_multiplier": 1 << 13}
    return command(opcode, **usual | fields)


def program(*parts, lanes=0):
    """`lanes`: 0 is 8, 1 is 16, 2 is 32; 129 is 8 with bfloat16, 66 with int16, 33 with int32, 18 with float32. Both buffers have 255 words."""
    return bytes([lanes, 255, 255]) + b"".join(parts)


def tensor_programs():
    load, store, end = command(LOAD, input_plane=36), command(STORE, input_address=100, input_plane=36), command(END)
    weights = bytes(i % 255 for i in range(9 * LANES * LANES)).replace(b"\x80", b"\x7f")
    taps = weights[:9 * LANES]
    biases = struct.pack("<Q", 0x3f800000) * (LANES // 2)
    scales = struct.pack("<QIHH", 1 << 20, 1 << 16, 12, 0) * (LANES // 2)
    wide = struct.pack("<QQQQ", 1 << 20, 0, 1 << 33, 12) * (LANES // 4)
    keep = command(KEEP, input_plane=9 + LANES)
    return {
        "convolve": program(load, layer(CONVOLVE), weights, CHANNELS, store, end),
        "convolve_residual": program(load, layer(CONVOLVE, flags=RESIDUAL, residual_plane=36), weights, CHANNELS, store, end),
        "convolve_blocks": program(load, layer(CONVOLVE, side=4, kernel=1, blocks=2, origin_y=0, origin_x=0), weights[:128], CHANNELS,
                                   weights[:128], CHANNELS, store, end),
        "convolve_bad_weight": program(load, layer(CONVOLVE), b"\x80" * len(weights), CHANNELS, store, end),
        "convolve_16_lanes": program(load, layer(CONVOLVE, kernel=1, origin_y=0, origin_x=0), weights[:256], CHANNELS * 2, store, end, lanes=1),
        "bfloat": program(load, layer(CONVOLVE, precision=BFLOAT16, low=0, high=0), biases, weights[:9 * 32], store, end, lanes=129),
        "bfloat_float32": program(load, layer(CONVOLVE, precision=BFLOAT16, flags=RESULTS32, kernel=1, origin_y=0, origin_x=0), biases,
                                  weights[:32], store, end, lanes=129),
        "int16": program(load, layer(CONVOLVE, precision=INT16, low=0, high=0, sum_zero=-128, sum_low=-1), weights[:9 * 32], scales, store, end, lanes=66),
        "int16_int32": program(load, layer(CONVOLVE, precision=INT16, flags=RESULTS32, kernel=1, origin_y=0, origin_x=0), weights[:32], scales,
                               store, end, lanes=66),
        "int32": program(load, layer(CONVOLVE, precision=INT32, low=0, high=0, sum_low=-1), weights[:9 * 16], wide, store, end, lanes=33),
        "float32": program(load, layer(CONVOLVE, precision=FLOAT32, low=0, high=0, sum_low=-128, sum_high=127), biases[:16], weights[:9 * 16], store,
                           end, lanes=18),
        "two_layers": program(load, layer(DEPTHWISE), taps, CHANNELS, layer(DEPTHWISE, input_address=100, output_address=150), taps[::-1],
                              CHANNELS, store, end),
        "depthwise": program(load, layer(DEPTHWISE), taps, CHANNELS, store, end),
        "kept": program(load, keep, taps, CHANNELS, layer(DEPTHWISE, flags=KEPT), layer(DEPTHWISE, flags=KEPT, stride_y=2), store, end),
        "pools": program(load, layer(MAX_POOL), CHANNELS, layer(SUM_POOL, flags=RESIDUAL, residual_plane=36), CHANNELS, store, end),
        "short": program(load, layer(CONVOLVE), weights[:100]),
        "size_window": program(layer(SUM_POOL, kernel=255, blocks=256, output_plane=0), CHANNELS * 256, end),
        "size_kept": program(layer(CONVOLVE, flags=KEPT, kernel=7), end),
        "size_weights": fill(weights, program(layer(CONVOLVE, kernel=50)), end),
        "size_addresses": program(command(LOAD, input_address=0xffffffff, input_plane=0xffffffff, output_address=0xffffffff), end),
        "count_loads": fill(load, program()),
        "count_ends": fill(end, program()),
        "count_depthwise": fill(layer(DEPTHWISE) + taps + CHANNELS, program(load), end),
        "count_kept": fill(layer(DEPTHWISE, flags=KEPT), program(keep, taps, CHANNELS), end),
    }
