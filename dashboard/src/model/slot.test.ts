import { expect, test } from 'vitest';
import type { FusedSlot, WatchResponse } from '../api/types';
import { contributorCounts, errorM, horizontalFactor, horizontalPosition, mostLikelyClass, readSlot } from './slot';

function response(slot: Partial<FusedSlot>, rest: Partial<WatchResponse> = {}): WatchResponse {
  return {
    slot: {
      epoch: '3600000000000', captured_unix_ns: '1800000000000000100', fused_unix_ns: '1800000000001500100', revision: 0, dimension: 2,
      subjects: [], means: [], cholesky: [], contributors: [], consistency: [], velocities: [], log_probabilities: [], ...slot,
    },
    skipped_slots: '3', leaves: ['a', 'b'], slot_ns: '500000', site: 'room', classes: [], ...rest,
  };
}

test('a slot keeps its numbers, with times in milliseconds', () => {
  const slot = readSlot(response({ subjects: [7, 2], means: [1, 2, 3, 4], cholesky: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], contributors: ['3', '1'], consistency: [1, 0] }))!;
  expect(slot.beginsMs).toBe(1_800_000_000_000);
  expect(slot.latencyMs).toBeCloseTo(1.5, 9);
  expect(slot.skipped).toBe(3);
  expect([...slot.contributors]).toEqual([2, 1]);
  expect(horizontalPosition(slot, 1)).toEqual([3, 4]);
  expect(horizontalFactor(slot, 1).map((x) => x.toFixed(1))).toEqual(['0.4', '0.5', '0.6']);
});

test('a line and a space have a place in the plane', () => {
  const line = readSlot(response({ dimension: 1, subjects: [1], means: [2], cholesky: [0.5], contributors: ['1'], consistency: [0] }))!;
  expect([horizontalPosition(line, 0), horizontalFactor(line, 0)]).toEqual([[2, 0], [0.5, 0, 0]]);
  const space = readSlot(response({ dimension: 3, subjects: [1, 2], means: [1, 2, 3, 4, 5, 6], cholesky: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], contributors: ['1', '1'], consistency: [0, 0] }))!;
  expect([horizontalPosition(space, 1), horizontalFactor(space, 1)]).toEqual([[4, 5], [7, 8, 9]]);
});

test('contributors beyond 64 leaves are in further words', () => {
  expect([...contributorCounts(['18446744073709551615', '1', '0', '2'], 2, 65)]).toEqual([65, 1]);
});

test('missing and unreadable numbers are not a number, and nothing throws', () => {
  const slot = readSlot(response({ subjects: [1, 2], means: [1, 'NaN', 'Infinity'], cholesky: [], contributors: [], consistency: [] }))!;
  expect(slot.means[1]).toBeNaN();
  expect(slot.means[2]).toBe(Infinity);
  expect(slot.means[3]).toBeNaN();
  expect([...slot.contributors]).toEqual([0, 0]);
  expect(errorM(slot, 0)).toBeNaN();
  expect(readSlot({ ...response({}), slot: undefined } as unknown as WatchResponse)).toBeUndefined();
});

test('the most likely class has the largest logarithm', () => {
  const slot = readSlot(response({ dimension: 0, subjects: [1, 2], log_probabilities: [-3, -0.1, -5, -0.2, -4, -2], contributors: ['1', '1'], consistency: [0, 0] }, { classes: ['x', 'y', 'z'] }))!;
  expect([mostLikelyClass(slot, 0, 3), mostLikelyClass(slot, 1, 3)]).toEqual([1, 0]);
});
