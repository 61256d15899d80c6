import { expect, test } from 'vitest';
import type { SimulatedBurst, Site } from '../api/types';
import { pathOf, pointsOf, REACH } from './burst';
import { modeOf, needsOf } from './calibration';
import { ellipseOf } from './ellipse';
import { figuresOf } from './figures';
import { History } from './history';
import { bytes, clockTime, count, dateAndTime, digest, duration, percent, significant, tickTime } from './numbers';
import { gridStep, Scale, widen } from './plan';
import { hashOf, parseRoute } from './route';
import { SiteHistory } from './site_history';
import type { Slot } from './slot';
import { judge } from './trust';

function slotAt(beginsMs: number, rest: Partial<Slot> = {}): Slot {
  return {
    epoch: String(beginsMs), beginsMs, latencyMs: 2, skipped: 0, revision: 0, dimension: 2, subjects: Int32Array.of(1), means: Float32Array.of(0, 0),
    cholesky: Float32Array.of(1, 0, 1), consistency: Float32Array.of(1), velocities: new Float32Array(), logProbabilities: new Float32Array(),
    contributors: Uint8Array.of(4), leaves: 4, truth: undefined, contributions: undefined, ...rest,
  } as Slot;
}

test('an ellipse has the axes of its covariance', () => {
  // Covariance [[4, 0], [0, 1]] turned by 30 degrees.
  const [c, s] = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
  const [xx, xy, yy] = [4 * c * c + s * s, 3 * c * s, 4 * s * s + c * c];
  const l11 = Math.sqrt(xx);
  const l21 = xy / l11;
  const ellipse = ellipseOf([l11, l21, Math.sqrt(yy - l21 * l21)]);
  expect(ellipse.major).toBeCloseTo(2, 12);
  expect(ellipse.minor).toBeCloseTo(1, 12);
  expect(ellipse.angle).toBeCloseTo(Math.PI / 6, 12);
  expect(ellipseOf([0, 0, 0])).toEqual({ major: 0, minor: 0, angle: 0 });
});

test('the history forgets by age and by number, and finds a moment', () => {
  const history = new History(1000, 50);
  for (let t = 0; t <= 5000; t += 10) history.add(slotAt(t));
  expect(history.length).toBe(50);
  expect(history.latest()!.beginsMs).toBe(5000);
  expect(history.at(history.indexAt(4995))!.beginsMs).toBe(4990);
  expect(history.indexAt(0)).toBe(0);
  expect(history.indexAt(1e9)).toBe(history.length - 1);
});

test('a revision replaces its slot, an older slot is ignored, another clock begins anew', () => {
  const history = new History(1000, 50);
  history.add(slotAt(2000));
  history.add(slotAt(2000, { revision: 1 }));
  history.add(slotAt(1990));
  expect([history.length, history.latest()!.revision]).toEqual([1, 1]);
  history.add(slotAt(10));
  expect([history.length, history.latest()!.beginsMs]).toEqual([1, 10]);
});

test('the rate counts the slots that were skipped', () => {
  const history = new History(10_000, 100);
  for (let t = 0; t <= 1000; t += 50) history.add(slotAt(t, { skipped: 99, contributors: Uint8Array.of(t < 500 ? 4 : 3) }));
  const figures = figuresOf(history, 0, history.length - 1)!;
  expect(figures.slotsPerSecond).toBeCloseTo(2000, 9);
  expect(figures.latencyMs).toBe(2);
  expect(figures.complete).toBeCloseTo(9 / 20, 9);
  expect(figures.meanErrorM).toBeNaN();
  expect(figuresOf(history, 3, 3)).toBeUndefined();
});

test('a plan keeps its proportions and goes back and forth', () => {
  const scale = new Scale({ left: -5, bottom: 0, right: 5, top: 4 }, 220, 400, 10);
  expect([scale.x(-5), scale.x(5), scale.y(2)]).toEqual([10, 210, 200]);
  expect(scale.length(1)).toBe(20);
  expect(scale.metres(scale.x(1.5), scale.y(3))).toEqual([1.5, 3]);
  expect([gridStep(20, 36), gridStep(40, 36), gridStep(0.5, 36)]).toEqual([2, 1, 100]);
});

test('one estimate far away or not finite does not spoil the bounds', () => {
  const far = slotAt(0, { subjects: Int32Array.of(1, 2, 3), means: Float32Array.of(1e9, 0, NaN, 1, 2.2, -3.4) });
  expect(widen(undefined, far)).toEqual({ left: 1, bottom: -4, right: 3, top: -2 });
});

test('an address survives names with every character', () => {
  for (const name of ['room', 'a/b', '<img onerror=1>', '"?#%', 'é\n']) {
    const route = parseRoute(hashOf('sources', name, { subject: '3' }));
    expect([route.view, route.name, route.parameters.get('subject')]).toEqual(['sources', name, '3']);
  }
  expect(parseRoute('#/nonsense/%zz').view).toBe('room');
  expect(parseRoute('').name).toBe('');
});

test('times have 24 hours and dates begin with the year', () => {
  const evening = new Date(2026, 10, 4, 21, 7, 9).getTime();
  expect([clockTime(evening), dateAndTime(evening), clockTime(0), dateAndTime(NaN)]).toEqual(['21:07:09', '2026-11-04 21:07', '–', '–']);
  expect([1000, 60_000, 86_400_000].map((step) => tickTime(evening, step))).toEqual(['21:07:09', '21:07', '2026-11-04']);
});

test('numbers are short and honest', () => {
  expect([significant(0.01234), significant(1.234), significant(12.34), significant(1234), significant(0)]).toEqual(['0.0123', '1.23', '12.3', '1,234', '0']);
  expect([percent(0.99999), percent(1), percent(NaN)]).toEqual(['> 99.9 %', '100.0 %', '–']);
  expect([duration(1.5), duration(90_000), duration(7_200_000)]).toEqual(['1.50 ms', '90.0 s', '2 h']);
  expect([bytes(999), bytes(1_500_000)]).toEqual(['999 B', '1.50 MB']);
  expect([count('9007199254740993'), count('x'), count(undefined)]).toEqual([9007199254740992, 0, 0]);
  expect(digest('AP8Q')).toBe('00ff10');
});

function site(consistency: Record<string, number>, rest: Partial<Site> = {}): Site {
  const names = Object.keys(consistency);
  return {
    name: 'room', dimension: 2, slot_ns: '500000', classes: [],
    counters: {
      accepted_frames: '4000', refused_frames: '0', refused_frames_by_reason: {}, accepted_tuples: '16000', refused_tuples: '0', refused_tuples_by_reason: {},
      fused_tuples: '4000', complete_slots: '1000', deadline_slots: '0', evicted_slots: '0', revisions: '0', open_slots: '0',
    },
    sources: names.map((name) => ({ name, accepted_frames: '1000', refused_frames: '0', gated_tuples: '0', last_epoch: '100000', consistency: consistency[name]! })),
    leaves: names.map((name) => ({ name, missed_slots: '0', absent: false })),
    ...rest,
  } as Site;
}

test('the liar stands first, and its neighbours are not called liars', () => {
  const verdicts = judge(site({ a: 1.1, b: 4, c: 36, d: 3.9 }), undefined);
  expect(verdicts.map((each) => [each.source, each.severity])).toEqual([['c', 'bad'], ['b', 'warn'], ['d', 'warn'], ['a', 'good']]);
  expect(verdicts[0]!.words[0]).toContain('6.00 times as far');
  expect(verdicts[1]!.words[0]).toContain('look at that one first');
});

test('the band says what can be measured, the bounds what matters', () => {
  const banded = (consistency: number, low: number, high: number) => {
    const one = site({ a: consistency });
    one.sources[0]!.consistency_band = { low, high, tuples: 1 };
    return judge(one, undefined)[0]!;
  };
  expect(banded(1.01, 0.96, 1.04)).toMatchObject({ severity: 'good', band: { low: 0.96, high: 1.04 }, words: ['As far from the others as it claims.'] });
  expect(banded(1.21, 0.96, 1.04)).toMatchObject({ severity: 'good', words: ['It errs 1.10 times as far as it claims: measurable, but little.'] });
  expect(banded(0.64, 0.96, 1.04)).toMatchObject({ severity: 'good', words: ['It claims 1.25 times the uncertainty that it shows: measurable, but little.'] });
  expect(banded(4, 0.96, 1.04).severity).toBe('bad');
  for (const few of [banded(4, 0, 7.8), banded(0.1, 0, 7.8)]) expect(few).toMatchObject({ severity: 'faint', words: ['Too few tuples to tell yet.'] });
  expect(banded(9, 0, 7.8).severity).toBe('bad');
});

test('a calibration has words, and its mode', () => {
  const room = site({ a: 1, b: 1, c: 1 }, { calibration: 'CALIBRATION_MODE_OBSERVE' });
  const calibration = {
    corrected: false, scale: 1.8, shift_x_m: -0.012, shift_y_m: 0.003, shift_x_deviation_m: 0.001, shift_y_deviation_m: 0.002,
    turn_deg: -2, turn_deviation_deg: 0.1, observations: 5000, finding: 'turned by 2.0° ± 0.1°; not corrected',
  };
  room.sources[1]!.calibration = { ...calibration, observations: 99, finding: '' };
  room.sources[2]!.calibration = calibration;
  expect(modeOf(room)).toBe('observe');
  expect(modeOf(site({ a: 1 }))).toBe('none');
  const needs = needsOf(room);
  expect(needs.map((each) => [each.source, each.notable])).toEqual([['c', true], ['b', false]]);
  expect(needs[0]).toMatchObject({ scale: '1.80', shiftX: '-1.2 ± 0.1 cm', shiftY: '0.3 ± 0.2 cm', turn: '-2.00 ± 0.10 °', words: calibration.finding });
  expect(needs[1]!.words).toMatch(/Too few/);
  room.sources[2]!.calibration = { ...calibration, turn_deg: 'NaN' as unknown as number, scale: Infinity };
  expect(needsOf(room)[0]).toMatchObject({ turn: '–', scale: '–' });
});

test('a burst is a picture of finite points within reach', () => {
  const burst = { in_phase: [1, -0.5, 9, 'NaN', 0], quadrature: [2, 0, -9, 0] } as unknown as SimulatedBurst;
  const points = pointsOf(burst);
  expect(points).toEqual([{ x: 1, y: -2 }, { x: -0.5, y: -0 }, { x: REACH, y: REACH }]);
  expect(pathOf(points)).toBe('M1.000 -2.000L-0.500 0.000L3.000 3.000');
  expect(pathOf([])).toBe('');
});

test('silence, gates, lost slots and refusals are said with their share', () => {
  const troubled = site({ a: 1, b: 1 });
  troubled.sources[0]!.gated_tuples = '400';
  troubled.sources[0]!.refused_frames = '3';
  troubled.sources[1]!.last_epoch = '80000';
  troubled.leaves[1]!.missed_slots = '250';
  const verdicts = judge(troubled, undefined);
  expect(verdicts.map((each) => each.source)).toEqual(['b', 'a']);
  expect(verdicts[0]!.words.join(' ')).toMatch(/Silent for 10\.0 s.*25\.0 % of the slots/);
  expect(verdicts[1]!.words.join(' ')).toMatch(/10\.0 % of its tuples/);
});

test('a source that has never reported is named', () => {
  const silent = site({ a: 1 });
  silent.leaves.push({ name: 'ghost', missed_slots: '1000', absent: true });
  expect(judge(silent, undefined)[0]).toMatchObject({ source: 'ghost', severity: 'bad', missed: 1 });
});

test('a site without slots or measurements has no invented figures', () => {
  const fresh = site({ a: 0 });
  delete fresh.counters;
  expect(judge(fresh, undefined)[0]).toMatchObject({ severity: 'faint', gated: NaN, missed: NaN });
});

test('the history of sites begins anew after a restart', () => {
  const history = new SiteHistory(60_000);
  const later = site({ a: 1 });
  later.counters!.accepted_frames = '5000';
  history.add(0, [site({ a: 1 })]);
  history.add(1000, [later]);
  expect(history.series('room', () => 1).times).toEqual([0, 1]);
  expect(history.before('room', 60_000)?.counters?.accepted_frames).toBe('4000');
  history.add(2000, [site({ a: 1 })]);
  expect(history.series('room', () => 1).times).toEqual([2]);
  expect(history.before('room', 60_000)).toBeUndefined();
});
