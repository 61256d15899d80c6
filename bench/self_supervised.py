#!/usr/bin/python3
"""One SimSiam step, all in, against PyTorch's fastest on OpenBLAS: batch 32, 28x28, one thread, alternating.

Usage: self_supervised.py BINARY_DIRECTORY
Both: two views (rotation, crop, blur), conv 32/64 with batch norm, ReLU and 2x2 pooling, mean, projector 128,
predictor, cosine loss, SGD with momentum and weight decay. The baseline makes its views with one batched grid_sample.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 30
STEPS = 3
BATCH = 32

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"


def skip(reason):
    print(json.dumps({"bench": "self_supervised", "skipped": reason}))
    sys.exit(0)


def baseline(channels_last):
    try:
        import torch
    except ImportError:
        skip("PyTorch is not installed (python3-torch)")
    from torch import nn
    from torch.nn import functional as F
    torch.set_num_threads(1)
    torch.manual_seed(1)

    def stage(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                nn.MaxPool2d(2)]

    encoder = nn.Sequential(*stage(1, 32), *stage(32, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                            nn.Linear(64, 128, bias=False), nn.BatchNorm1d(128), nn.ReLU(inplace=True),
                            nn.Linear(128, 128, bias=False), nn.BatchNorm1d(128))
    predictor = nn.Sequential(nn.Linear(128, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(inplace=True),
                              nn.Linear(64, 128, bias=False))
    if channels_last:
        encoder = encoder.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05 * BATCH / 256,
                                momentum=0.9, weight_decay=1e-4)
    images = torch.rand(BATCH, 1, 28, 28)
    offsets = torch.arange(-3.0, 4.0)

    def view():
        angle = (torch.rand(BATCH) * 2 - 1) * math.pi / 6
        scale = (torch.rand(BATCH) * 0.5 + 0.5).sqrt()
        shift = (torch.rand(BATCH, 2) * 2 - 1) * (1 - scale)[:, None]
        cosine, sine = angle.cos() * scale, angle.sin() * scale
        theta = torch.stack([torch.stack([cosine, -sine, shift[:, 0]], 1),
                             torch.stack([sine, cosine, shift[:, 1]], 1)], 1)
        kernel = torch.exp(-0.5 * (offsets / (torch.rand(()) * 1.9 + 0.1)) ** 2)
        kernel = (kernel / kernel.sum()).view(1, 1, 1, 7)
        blurred = torch.rand(BATCH) < 0.2
        source = images.clone()
        if blurred.any():
            part = F.conv2d(source[blurred], kernel, padding=(0, 3))
            source[blurred] = F.conv2d(part, kernel.transpose(2, 3), padding=(3, 0))
        grid = F.affine_grid(theta, (BATCH, 1, 28, 28), align_corners=False)
        return F.grid_sample(source, grid, align_corners=False)

    def milliseconds():
        start = time.perf_counter()
        for _ in range(STEPS):
            z1, z2 = encoder(view()), encoder(view())
            p1, p2 = predictor(z1), predictor(z2)
            loss = -(F.cosine_similarity(p1, z2.detach()).mean() + F.cosine_similarity(p2, z1.detach()).mean()) / 2
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        return (time.perf_counter() - start) / STEPS * 1e3

    milliseconds()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        if "openblas" not in maps.read():
            skip("PyTorch does not use OpenBLAS here (libopenblas0): reference BLAS is a straw man")
    layout = "channels last" if channels_last else "contiguous"
    return f"PyTorch {torch.__version__} eager, OpenBLAS, {layout}", milliseconds


def candidate(directory):
    server = subprocess.Popen([os.path.join(directory, "self_supervised_bench"), "--serve"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    description = server.stdout.readline().strip()

    def milliseconds():
        print(STEPS, file=server.stdin, flush=True)
        return float(server.stdout.readline())

    milliseconds()
    return description, milliseconds


def main():
    baselines = [baseline(False), baseline(True)]
    fastest = [min(run() for _ in range(3)) for _, run in baselines]
    baseline_name, run_baseline = baselines[fastest.index(min(fastest))]
    name, run = candidate(sys.argv[1])
    reference, mine = [], []
    for _ in range(ROUNDS):
        reference.append(run_baseline())
        mine.append(run())
    step = statistics.median(mine)
    print(json.dumps({
        "bench": "self_supervised", "batch": BATCH, "threads": 1,
        "baseline": {"name": baseline_name, "ms": round(statistics.median(reference), 2)},
        name: {"ms": round(step, 2), "images_per_s": round(BATCH / step * 1e3),
               "median_ratio": round(statistics.median(r / m for r, m in zip(reference, mine)), 2)}}, indent=1))


if __name__ == "__main__":
    main()
