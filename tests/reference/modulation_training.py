#!/usr/bin/python3
"""Writes modulation_training.json: how PyTorch in double precision trains two modulation networks on tones.

The initial weights and the bursts come from SplitMix64, as in core/nn/modulation, so no weights are kept. `spread` is how
far PyTorch in single precision ends from double: the test allows a multiple of it. Run it again after a change of the
networks, of their initial weights or of the steps:

    tests/reference/modulation_training.py
"""

import json
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SEED, BATCH, STEPS, RATE, FIRST_TONES = 7, 40, 100, 4e-3, 1000
CHECKED = [1, 10, 100]
SAMPLES = 4
STEP = np.uint64(0x9E3779B97F4A7C15)


def uniform(seed, count):
    """The first numbers of RandomStream::Uniform, and their bits."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + STEP * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = z ^ (z >> np.uint64(31))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53, bits


def tones(seed):
    """DrawTones of core/nn/modulation/modulation_fixture.h."""
    values, bits = (a.reshape(BATCH, -1) for a in uniform(seed, BATCH * (2 + 4 * 128)))
    classes = ((bits[:, 0] >> np.uint64(32)) * np.uint64(10) >> np.uint64(32)).astype(np.int64)
    angle = 2 * np.pi * values[:, 1:2] + 0.25 * (classes[:, None] - 4.5) * np.arange(128)
    draws = values[:, 2:].reshape(BATCH, 128, 2, 2)
    noise = 0.1 * np.sqrt(-2 * np.log(1 - draws[..., 0])) * np.cos(2 * np.pi * draws[..., 1])
    bursts = np.stack([np.cos(angle), np.sin(angle)], 1) + noise.transpose(0, 2, 1)
    return torch.from_numpy(bursts.astype(np.float32)), torch.from_numpy(classes)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(2)


def table4():
    return nn.Sequential(nn.Conv1d(2, 32, 8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(32, 16, 16), nn.ReLU(),
                         nn.MaxPool1d(2), nn.Flatten(), nn.Linear(352, 64, bias=False), nn.ReLU(),
                         nn.Linear(64, 32, bias=False), nn.ReLU(), nn.Linear(32, 10, bias=False))


def deep():
    def convolution(inputs, outputs, size, *pool):
        return [nn.Conv1d(inputs, outputs, size, bias=False), nn.BatchNorm1d(outputs), nn.ReLU(), *pool]

    return nn.Sequential(*convolution(2, 16, 8), *convolution(16, 24, 5, nn.MaxPool1d(2)),
                         *convolution(24, 24, 5, nn.MaxPool1d(2)), *convolution(24, 32, 4, nn.MaxPool1d(2)),
                         *convolution(32, 32, 1), Mean(), nn.Linear(32, 10))


def tensors(network):
    """By the names of core/nn, in the order of its flat vector."""
    counts, named, last = {}, {}, None
    for layer in network:
        if isinstance(layer, (nn.Conv1d, nn.Linear)):
            kind = "convolution" if isinstance(layer, nn.Conv1d) else "dense"
            counts[kind] = counts.get(kind, 0) + 1
            last = f"{kind}{counts[kind]}"
            named[last + ".weight"] = layer.weight
            if layer.bias is not None:
                named[last + ".bias"] = layer.bias
        elif isinstance(layer, nn.BatchNorm1d):
            named[last + ".scale"], named[last + ".shift"] = layer.weight, layer.bias
    return dict(sorted(named.items())), last


def draw_weights(network):
    named, last = tensors(network)
    first = 0
    with torch.no_grad():
        for name, tensor in named.items():
            if tensor.dim() == 1:
                tensor.fill_(1.0 if name.endswith(".scale") else 0.0)
                continue
            limit = np.sqrt(3 * (0.02 if name.startswith(last) else 2.0) / (tensor.numel() / len(tensor)))
            values = uniform(SEED, first + tensor.numel())[0][first:]
            first += tensor.numel()
            tensor.copy_(torch.from_numpy((2 * limit * values - limit).astype(np.float32).reshape(tensor.shape)))


def train(make, precision):
    """Losses of all steps, the first gradient, and the tensors after the steps that are checked."""
    network = make()
    draw_weights(network)
    network = network.to(precision)
    named, _ = tensors(network)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: one_cycle(step) / RATE)
    losses, states, gradient = [], {}, None
    for step in range(STEPS):
        bursts, classes = tones(FIRST_TONES + step)
        loss = F.cross_entropy(network(bursts.to(precision)), classes)
        optimiser.zero_grad()
        loss.backward()
        if step == 0:
            gradient = {name: tensor.grad.double().numpy().ravel().copy() for name, tensor in named.items()}
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        if step + 1 in CHECKED:
            states[step + 1] = {n: t.detach().double().numpy().ravel().copy() for n, t in named.items()}
    return losses, gradient, states


def one_cycle(step):
    """OneCycle of core/nn/optimise, which has the constants of torch.optim.lr_scheduler.OneCycleLR."""
    rise = 0.3 * STEPS
    begin, end, done = (RATE / 25, RATE, step / rise) if step < rise else \
        (RATE, RATE / 250_000, (step - rise) / (STEPS - rise))
    return end + 0.5 * (begin - end) * (1 + np.cos(np.pi * done))


def size(values):
    return float(np.sqrt(np.mean(np.square(values))))


def record(values, rounded):
    """Size and a few values of each tensor; the spread is relative to the size."""
    recorded = {}
    for name, tensor in values.items():
        at = np.linspace(0, len(tensor) - 1, SAMPLES).astype(int)
        spread = np.max(np.abs(tensor - rounded[name])) / max(size(tensor), 1e-12)
        recorded[name] = {"size": float(f"{size(tensor):.9g}"), "spread": float(f"{spread:.2g}"),
                          "at": at.tolist(), "values": [float(f"{v:.9g}") for v in tensor[at]]}
    return recorded


def main():
    torch.set_num_threads(1)
    networks = {}
    for make in (table4, deep):
        losses, gradient, states = train(make, torch.float64)
        single_losses, single_gradient, single_states = train(make, torch.float32)
        networks[make.__name__] = {
            "losses": [float(f"{losses[step - 1]:.9g}") for step in CHECKED],
            "loss_spreads": [float(f"{abs(losses[step - 1] - single_losses[step - 1]):.2g}") for step in CHECKED],
            "gradient": record(gradient, single_gradient),
            "parameters": [record(states[step], single_states[step]) for step in CHECKED]}
    recorded = {"seed": SEED, "batch": BATCH, "steps": STEPS, "rate": RATE, "first_tones": FIRST_TONES,
                "checked": CHECKED, "networks": networks}
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(recorded, separators=(",", ":")).replace("},", "},\n") + "\n")


if __name__ == "__main__":
    main()
