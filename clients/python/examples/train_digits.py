"""Trains a classifier of digits in PyTorch for the node beside it. usage: train_digits.py SOCKET MNIST-FOLDER PART PARTS"""

import gzip
import sys

import numpy as np
import torch
from tributary.trainer import serve_trainer

network = torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


def read(name, header):
    return torch.tensor(np.frombuffer(gzip.open(f"{sys.argv[2]}/{name}-ubyte.gz").read(), np.uint8, offset=header))


def train(parameters, task):
    network.load_state_dict({name: torch.tensor(value) for name, value in parameters.items()})
    descent = torch.optim.SGD(network.parameters(), task.learning_rate, task.momentum, weight_decay=task.weight_decay)
    chance = torch.Generator().manual_seed(task.seed >> 1)
    for _ in range(task.local_steps):
        batch = torch.randint(len(labels), (task.batch,), generator=chance)
        loss = torch.nn.functional.cross_entropy(network(images[batch]), labels[batch])
        descent.zero_grad()
        loss.backward()
        descent.step()
        yield loss.item()
    parameters.update({name: value.detach().numpy() for name, value in network.state_dict().items()})


def held_out(parameters):
    network.load_state_dict({name: torch.tensor(value) for name, value in parameters.items()})
    return (network(test).argmax(1) == answers).float().mean().item()


part, parts = map(int, sys.argv[3:5])
images, labels = read("train-images-idx3", 16).view(-1, 784)[part::parts] / 255, read("train-labels-idx1", 8)[part::parts].long()
test, answers = read("t10k-images-idx3", 16).view(-1, 784) / 255, read("t10k-labels-idx1", 8).long()
serve_trainer(sys.argv[1], "digits", len(labels), train, held_out)
