#!/usr/bin/env python3
"""A master of a beacon board, by pyserial alone. usage: master.py DEVICE"""

import sys

import serial


def ask(line, text, answers=1):
    line.write(text.encode())
    return [line.readline().decode().strip() for _ in range(answers)]


with serial.Serial(sys.argv[1], 115200, timeout=5) as line:
    assert ask(line, "?\n") == ["beacon 1"], "the version"
    weights = [0] * 40  # all hidden neurons are 0, the outputs are the biases of layer 2
    assert ask(line, "-1\n" + " ".join(map(str, weights)) + "\n") == ["ok"]
    weights = ([0] * 10 + [128]) + ([0] * 10 + [-64])  # 0.5 and -0.25 in 1/256
    assert ask(line, "-2\n" + " ".join(map(str, weights)) + "\n") == ["ok"]
    assert ask(line, "2\n1,2,3\n-1024,0,1023\n", 2) == ["512,-256"] * 2, "in 1/1024"
    assert ask(line, "-1\n" + " ".join(str(37 * i * i % 511 - 255) for i in range(40)) + "\n") == ["ok"]
    samples = [(x, y, -x, x // 2, y // 2) for x in range(-900, 901, 120) for y in range(-900, 901, 120)]
    said = ask(line, f"0\n{len(samples)}\n" + "".join("%d,%d,%d,%d,%d\n" % each for each in samples))[0].split()
    assert said[0] == "ok" and said[4] == "taken" and float(said[3]) < float(said[2]), said
    assert ask(line, "1\n1,2,5000\n") == ["error 3 a value is 5000, it must be from -1024 to 1023"]
    x, y = map(int, ask(line, "\n\n1\n600,-300,-600\n")[0].split(","))
    assert abs(x - 300) < 60 and abs(y + 150) < 60, (x, y)
    print(f"all commands answered; retrained in {said[1]} epochs from {said[2]} to {said[3]}")
