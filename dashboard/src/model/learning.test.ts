import { expect, test } from 'vitest';
import type { CheckFinding, FlowAccount, Node, NodeStatus, Round, Run } from '../api/types';
import { Confusion } from './confusion';
import { parseFaults } from './faults';
import { FrameRates, inOrder, matches, troublesOf, warningsOf } from './fleet';
import { accountOf, balanceOf } from './flow';
import { accuracyCurves, committed, operationsOf, splitInto } from './runs';
import type { Slot } from './slot';

const account = (total: number, entries: [string, string, number][]): FlowAccount => ({
  total: String(total), entries: entries.map(([place, reason, count]) => ({ place, reason, count: String(count), metric: '' })),
});

test('an account that does not add up says by how much', () => {
  const good = accountOf(account(10, [['taken', '', 7], ['refused', 'not_finite', 2], ['under way', '', 1]]));
  expect(good.rows.map((row) => [row.label, row.kind, row.share])).toEqual([['taken', 'good', 0.7], ['refused: not finite', 'lost', 0.2], ['under way', 'waiting', 0.1]]);
  expect(good.missing).toBe(0);
  expect(accountOf(account(10, [['taken', '', 7]])).missing).toBe(3);
  expect(accountOf(undefined)).toEqual({ total: 0, rows: [], missing: 0 });
});

function node(rest: Partial<Node> & { offered?: number; held?: number } = {}): Node {
  const { offered, held, ...others } = rest;
  return {
    site: 'room', name: 'north', connected: true, last_frame_unix_ns: '0', accepted_frames: '0', refused_frames: '0', dropped_frames: '0', sources: ['north'],
    model_name: 'lis', model_version: '', model_sha256: '', learns: [], identity: '', certificate_expires_unix_ns: '0', status_unix_ns: '0',
    ...(offered === undefined ? {} : {
      status: { version: '', started_unix_ns: '1', offered_frames: String(offered), held_frames: String(held ?? 0), held_bytes: '0', xclbin_uuid: '', sensors: [], last_error: '', last_error_unix_ns: '0', problems: [] },
    }),
    ...others,
  } as Node;
}

test('frames that vanish without a count are found, frames in flight are not', () => {
  const base = node({ offered: 1000, accepted_frames: '900', held: 100 });
  const fine = balanceOf(node({ offered: 3000, accepted_frames: '2850', refused_frames: '10', held: 30 }), base, 20)!;
  expect([fine.offered, fine.explained, fine.addsUp]).toEqual([2000, 1890, true]);
  const lossy = balanceOf(node({ offered: 3000, accepted_frames: '2400', held: 30 }), base, 20)!;
  expect([lossy.missing, lossy.addsUp]).toEqual([570, false]);
  expect(balanceOf(node(), base, 20)).toBeUndefined();
  expect(balanceOf(node({ offered: 5, accepted_frames: '5' }), base, 20)).toBeUndefined();
});

test('a node in trouble says why and stands first', () => {
  const lost = node({ name: 'z', connected: false, dropped_frames: '3' });
  expect(troublesOf(node(), 0)).toEqual([]);
  expect(troublesOf(lost, 0)).toEqual(['Not connected.', 'It dropped 3 frames before they were acknowledged.']);
  expect(troublesOf(node({ accepted_frames: '100000', refused_frames: '832', dropped_frames: '3' }), 0)).toEqual([]);
  expect(troublesOf(node({ accepted_frames: '1000', refused_frames: '20' }), 0)).toEqual(['20 frames refused.']);
  expect(troublesOf(node({ certificate_expires_unix_ns: '1000000000' }), 2000)).toEqual(['Its certificate has expired.']);
  const check = { check: 'clock', finding: 'CHECK_FINDING_WARNING', found: 'not synchronised', remedy: 'Run chrony' } as const;
  const saying = (finding: CheckFinding) => node({ name: 'a', status: { problems: [], checks: [{ ...check, finding }] } as unknown as NodeStatus });
  expect(warningsOf(saying('CHECK_FINDING_WARNING'))).toEqual(['clock: not synchronised. Run chrony.']);
  expect(troublesOf(saying('CHECK_FINDING_WARNING'), 0)).toEqual([]);
  expect(troublesOf(saying('CHECK_FINDING_FAULT'), 0)).toEqual(['clock: not synchronised. Run chrony.']);
  expect(warningsOf(saying('CHECK_FINDING_OK'))).toEqual([]);
  expect(inOrder([node(), saying('CHECK_FINDING_WARNING'), lost], 0).map((each) => each.name)).toEqual(['z', 'a', 'north']);
  expect(inOrder([node(), lost], 0).map((each) => each.name)).toEqual(['z', 'north']);
  expect([matches(node(), 'NOR lis'), matches(node(), 'south'), matches(node(), '')]).toEqual([true, false, true]);
});

test('a rate needs two answers of the same aggregator', () => {
  const rates = new FrameRates();
  rates.take([node({ accepted_frames: '100' })], 0);
  expect(rates.of(node())).toBeNaN();
  rates.take([node({ accepted_frames: '300' })], 2000);
  expect(rates.of(node())).toBe(100);
  rates.take([node({ accepted_frames: '5' })], 4000);
  expect(rates.of(node())).toBeNaN();
});

test('a roll-back hides the rounds after it, a failed round is no point of the curve', () => {
  const round = (number: number, rest: Partial<Round> = {}) => ({ round: number, failure: '', rolled_back: false, ...rest }) as Round;
  const history = [round(1), round(2), round(3, { failure: 'no quorum' }), round(4), round(1, { rolled_back: true }), round(5)];
  expect(committed(history).map((each) => each.round)).toEqual([1, 5]);
});

test('probe and neighbours stand beside those of an encoder that was never trained', () => {
  const evaluation = { linear_probe: 0.75, knn: 0.5, random_linear_probe: 0.25, random_knn: 0.125 };
  const curves = accuracyCurves([{ round: 1 }, { round: 2, evaluation }] as Round[]);
  expect(curves.map((each) => each.values)).toEqual([[null, 75], [null, 50], [null, 25], [null, 12.5]]);
  expect(curves.map((each) => each.dashed)).toEqual([false, false, true, true]);
});

test('a run that has ended can only be deleted', () => {
  expect(operationsOf('RUN_STATE_FINISHED')).toEqual(['delete']);
  expect(operationsOf('RUN_STATE_RUNNING')).toEqual(['pause', 'stop']);
  expect(operationsOf('RUN_STATE_PAUSED')).toEqual(['resume', 'stop']);
});

test('faults stand at their line', () => {
  expect(parseFaults('run.toml:12: client.batch: expected 1 to 4096\n3:7: "x" is no key\nthe disk is full\n\n')).toEqual([
    { line: 12, text: 'client.batch: expected 1 to 4096' }, { line: 3, text: '"x" is no key' }, { line: 0, text: 'the disk is full' },
  ]);
});

test('the confusion counts each slot once, and only where the truth is known', () => {
  const confusion = new Confusion();
  const slot = {
    epoch: '1', dimension: 0, subjects: Int32Array.of(1, 2, 3), logProbabilities: Float32Array.of(-0.1, -3, -3, -0.1, -0.1, -3),
    truth: { positions: new Float32Array(), classes: Int32Array.of(0, 0, -1) },
  } as unknown as Slot;
  confusion.add(slot, 2);
  confusion.add(slot, 2);
  expect([confusion.judged, confusion.right, confusion.share(0, 1), confusion.share(1, 1)]).toEqual([2, 1, 0.5, NaN]);
});

test('the runs that came of a split are known by name and by the nodes that they name', () => {
  const run = (name: string, named_nodes: number) => ({ name, named_nodes }) as Run;
  const runs = [run('clu', 0), run('clu-1', 3), run('clu-2', 0), run('clu-3', 2), run('clu-4', 1)];
  expect(splitInto(runs[0]!, 3, runs)).toEqual(['clu-1', 'clu-3']);
  expect(splitInto(runs[0]!, 3, runs.slice(0, 1))).toEqual([]);
});
