// The figures of the latest seconds: rate, latency, completeness, error.
import { History } from './history';
import { errorM } from './slot';

export interface Figures {
  readonly slotsPerSecond: number;
  readonly estimatesPerSecond: number;
  readonly latencyMs: number; // median
  readonly complete: number; // share of estimates with every leaf source
  readonly meanErrorM: number; // NaN where the truth is not known
  readonly subjects: number;
}

export function figuresOf(history: History, from: number, to: number): Figures | undefined {
  const first = history.at(from);
  const last = history.at(to);
  if (first === undefined || last === undefined || to <= from) return undefined;
  const latencies: number[] = [];
  let slots = 0;
  let estimates = 0;
  let published = 0;
  let complete = 0;
  let errors = 0;
  let known = 0;
  for (let i = from + 1; i <= to; ++i) {
    const slot = history.at(i)!;
    if (Number.isFinite(slot.latencyMs)) latencies.push(slot.latencyMs);
    published += 1 + slot.skipped;
    slots += 1;
    estimates += slot.subjects.length;
    for (let k = 0; k < slot.subjects.length; ++k) {
      if (slot.contributors[k]! >= slot.leaves) ++complete;
      const error = errorM(slot, k);
      if (Number.isFinite(error)) {
        errors += error;
        ++known;
      }
    }
  }
  latencies.sort((a, b) => a - b);
  const seconds = (last.beginsMs - first.beginsMs) / 1000;
  return {
    slotsPerSecond: published / seconds,
    // Skipped slots are as large as the ones that are seen.
    estimatesPerSecond: ((published / seconds) * estimates) / slots,
    latencyMs: latencies[latencies.length >> 1] ?? NaN,
    complete: estimates > 0 ? complete / estimates : NaN,
    meanErrorM: known > 0 ? errors / known : NaN,
    subjects: last.subjects.length,
  };
}
