// A fused slot as the page keeps it: flat arrays, subject number i at i times the row's length.
import type { Contribution as Told, ContributionFate, WatchResponse } from '../api/types';
import { count, real } from './numbers';

export interface Slot {
  readonly epoch: string;
  readonly beginsMs: number; // since the Unix epoch
  readonly latencyMs: number; // from the earliest contribution's samples to the fusion; NaN: not known
  readonly skipped: number; // slots between this one and the one received before
  readonly revision: number;
  readonly dimension: number; // 0: the slot has classes
  readonly subjects: Int32Array;
  readonly means: Float32Array;
  readonly cholesky: Float32Array;
  readonly consistency: Float32Array;
  readonly velocities: Float32Array;
  readonly logProbabilities: Float32Array;
  readonly contributors: Uint8Array; // number of leaf sources of each subject
  readonly leaves: number;
  readonly truth: Truth | undefined;
  readonly contributions: readonly Contribution[]; // of the subject that the reader asked for
}

// What is really there, for the subjects where the site knows it; NaN or -1 elsewhere.
export interface Truth {
  readonly positions: Float32Array; // [n × 2], m
  readonly classes: Int32Array; // [n]
}

// The tuple of one source for one subject.
export interface Contribution {
  readonly source: string;
  readonly subject: number;
  readonly mean: Float32Array;
  readonly cholesky: Float32Array;
  readonly logProbabilities: Float32Array;
  readonly innovation: number; // its distance from the fusion of the others
  readonly leftOut: string; // why the fusion left it out; empty: it counts
}

const LEFT_OUT: Record<ContributionFate, string> = {
  CONTRIBUTION_FATE_UNSPECIFIED: '',
  CONTRIBUTION_FATE_FUSED: '',
  CONTRIBUTION_FATE_REDUNDANT: 'contained in a larger one',
  CONTRIBUTION_FATE_GATED: 'gated',
};

function readContribution(told: Told, subject: number): Contribution {
  return {
    source: told.source,
    subject,
    mean: floats(told.mean, told.mean.length),
    cholesky: floats(told.cholesky, told.cholesky.length),
    logProbabilities: floats(told.log_probabilities, told.log_probabilities.length),
    innovation: real(told.innovation),
    leftOut: LEFT_OUT[told.fate] ?? '',
  };
}

// Truth is in the plane; an estimate with a height keeps it as not known.
function readTruth(response: WatchResponse, subjects: number): Truth | undefined {
  if (response.truth === undefined) return undefined;
  const classes = new Int32Array(subjects).fill(-1);
  classes.set(response.truth.classes.slice(0, subjects));
  return { positions: floats(response.truth.positions, 2 * subjects), classes };
}

function floats(values: readonly unknown[] | undefined, length: number): Float32Array {
  const row = new Float32Array(length).fill(NaN);
  for (let i = 0; i < length && values !== undefined && i < values.length; ++i) row[i] = real(values[i] as number);
  return row;
}

function bits(word: bigint): number {
  let set = 0;
  for (let rest = word; rest > 0n; rest &= rest - 1n) ++set;
  return set;
}

// The number of leaf sources in each subject's estimate.
export function contributorCounts(words: readonly string[], subjects: number, leaves: number): Uint8Array {
  const perSubject = Math.ceil(leaves / 64);
  const counts = new Uint8Array(subjects);
  for (let i = 0; i < subjects * perSubject && i < words.length; ++i) {
    const subject = Math.floor(i / perSubject);
    counts[subject] = Math.min(255, counts[subject]! + bits(BigInt.asUintN(64, BigInt(words[i]!))));
  }
  return counts;
}

// Nothing where the site has fused nothing yet.
export function readSlot(response: WatchResponse): Slot | undefined {
  const slot = response.slot;
  if (slot === undefined) return undefined;
  const n = slot.subjects.length;
  const d = slot.dimension;
  const slotNs = count(response.slot_ns) || 500_000;
  const capturedNs = slot.captured_unix_ns;
  return {
    epoch: slot.epoch,
    beginsMs: (count(slot.epoch) * slotNs) / 1e6,
    latencyMs: count(capturedNs) > 0 ? Number(BigInt(slot.fused_unix_ns) - BigInt(capturedNs)) / 1e6 : NaN,
    skipped: count(response.skipped_slots),
    revision: slot.revision,
    dimension: d,
    subjects: Int32Array.from(slot.subjects),
    means: floats(slot.means, n * d),
    cholesky: floats(slot.cholesky, (n * d * (d + 1)) / 2),
    consistency: floats(slot.consistency, n),
    velocities: floats(slot.velocities, slot.velocities.length),
    logProbabilities: floats(slot.log_probabilities, n * response.classes.length),
    contributors: contributorCounts(slot.contributors, n, response.leaves.length),
    leaves: response.leaves.length,
    truth: readTruth(response, n),
    contributions: (response.contributions?.contributions ?? []).map((told) => readContribution(told, response.contributions!.subject)),
  };
}

// The horizontal block of the Cholesky factor of subject number i: l11, l21, l22, m. A line has no second axis.
export function horizontalFactor(slot: Slot, i: number): readonly [number, number, number] {
  const d = slot.dimension;
  const at = (i * d * (d + 1)) / 2;
  const rows = slot.cholesky;
  return d === 1 ? [rows[at]!, 0, 0] : [rows[at]!, rows[at + 1]!, rows[at + 2]!];
}

// The horizontal position of subject number i, m.
export function horizontalPosition(slot: Slot, i: number): readonly [number, number] {
  const d = slot.dimension;
  return [slot.means[i * d]!, d === 1 ? 0 : slot.means[i * d + 1]!];
}

// The distance between estimate and truth in the plane, m; NaN where the truth is not known.
export function errorM(slot: Slot, i: number): number {
  if (slot.truth === undefined || slot.dimension === 0) return NaN;
  const [x, y] = horizontalPosition(slot, i);
  return Math.hypot(x - slot.truth.positions[2 * i]!, slot.dimension === 1 ? 0 : y - slot.truth.positions[2 * i + 1]!);
}

export function mostLikelyClass(slot: Slot, i: number, classes: number): number {
  let best = 0;
  for (let c = 1; c < classes; ++c) {
    if (slot.logProbabilities[i * classes + c]! > slot.logProbabilities[i * classes + best]!) best = c;
  }
  return best;
}
