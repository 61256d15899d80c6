// Which source of a site can be believed, and why not: figures of the last minute in words.
import type { Site, SiteSource } from '../api/types';
import { count, duration, integer, percent, real, significant } from './numbers';

// What matters in practice, for verdicts. A consistent source has 1. Twice that in squared distance is an uncertainty understated by 40 %; half of
// it, one overstated as much. The chi-square band of the API is narrower by far: it says what can be measured.
export const BOUNDS = [0.5, 2] as const;
const SILENT_MS = 2_000;
const NOTABLE_SHARE = 0.01;
// A source that lies is among those that the others are compared with: they seem to lie, too, but less.
const MISLED = 0.75;

export type Severity = 'bad' | 'warn' | 'good' | 'faint';

export interface Band {
  readonly low: number;
  readonly high: number;
}

export function bandOf(source: SiteSource | undefined): Band | undefined {
  const band = source?.consistency_band;
  return band === undefined ? undefined : { low: real(band.low), high: real(band.high) };
}

export interface Verdict {
  readonly source: string;
  readonly severity: Severity;
  readonly consistency: number; // 0: not measured yet
  readonly band: Band | undefined; // where a consistent source lies; undefined: not measured yet, or classes
  readonly gated: number; // share of its tuples; NaN: nothing was accepted
  readonly missed: number; // share of the slots that were fused without it; NaN: no slot was fused
  readonly refusedFrames: number;
  readonly behindMs: number; // its latest slot behind the latest one of any source
  readonly words: readonly string[];
}

const RANK: Record<Severity, number> = { bad: 0, warn: 1, good: 2, faint: 3 };

function fusedSlots(site: Site): number {
  const counters = site.counters;
  return count(counters?.complete_slots) + count(counters?.deadline_slots) + count(counters?.evicted_slots);
}

// So few tuples that a consistent source may be there, too.
function undecided(consistency: number, band: Band | undefined): boolean {
  return consistency === 0 || (band !== undefined && (consistency < BOUNDS[0] || consistency > BOUNDS[1]) && consistency >= band.low && consistency <= band.high);
}

function distanceWords({ consistency, band }: Pick<Verdict, 'consistency' | 'band'>, worst: number, categorical: boolean): string | undefined {
  if (consistency === 0) return 'Not measured yet: that needs another source with the same subjects.';
  if (undecided(consistency, band)) return 'Too few tuples to tell yet.';
  const factor = significant(Math.sqrt(Math.max(consistency, 1 / consistency)));
  if (consistency > BOUNDS[1]) {
    if (consistency < MISLED * worst) return 'Disagrees with the others, which contain a source that disagrees more: look at that one first.';
    return categorical
      ? 'Over-confident: it is surprised by the others more often than its probabilities say. Check its model.'
      : `Over-confident or displaced: its tuples lie ${factor} times as far from the others as it claims. Check its model, place and heading.`;
  }
  // With classes, a certain source is mostly below 1.
  if (consistency < BOUNDS[0] && !categorical) return `Cautious: it claims ${factor} times the uncertainty that it shows.`;
  if (band !== undefined && consistency > band.high) return `It errs ${factor} times as far as it claims: measurable, but little.`;
  if (band !== undefined && consistency < band.low) return `It claims ${factor} times the uncertainty that it shows: measurable, but little.`;
  return undefined;
}

function severityOf(verdict: Omit<Verdict, 'severity' | 'words'>, worst: number): Severity {
  const open = undecided(verdict.consistency, verdict.band);
  if (verdict.consistency > BOUNDS[1] && !open) return verdict.consistency < MISLED * worst ? 'warn' : 'bad';
  if (verdict.behindMs > SILENT_MS) return 'bad';
  if (verdict.gated > NOTABLE_SHARE || verdict.missed > NOTABLE_SHARE || verdict.refusedFrames > 0) return 'warn';
  return open ? 'faint' : 'good';
}

// `earlier`: the same site some time before, for shares of what happened since; itself: since the aggregator started is not asked.
export function judge(site: Site, earlier: Site | undefined): Verdict[] {
  const latest = site.sources.reduce((most, each) => Math.max(most, count(each.last_epoch)), 0);
  const worst = site.sources.reduce((most, each) => Math.max(most, real(each.consistency) || 0), 0);
  const frames = count(site.counters?.accepted_frames) - count(earlier?.counters?.accepted_frames);
  const tuples = count(site.counters?.accepted_tuples) - count(earlier?.counters?.accepted_tuples);
  const perFrame = frames > 0 ? tuples / frames : NaN;
  const slots = fusedSlots(site) - (earlier ? fusedSlots(earlier) : 0);
  const names = new Set([...site.sources.map((each) => each.name), ...site.leaves.map((each) => each.name)]);
  const verdicts = [...names].map((name): Verdict => {
    const source = site.sources.find((each) => each.name === name);
    const before = earlier?.sources.find((each) => each.name === name);
    const leaf = site.leaves.find((each) => each.name === name);
    const leafBefore = earlier?.leaves.find((each) => each.name === name);
    const accepted = count(source?.accepted_frames) - count(before?.accepted_frames);
    const facts = {
      source: name,
      consistency: source ? real(source.consistency) : 0,
      band: bandOf(source),
      gated: accepted > 0 ? (count(source?.gated_tuples) - count(before?.gated_tuples)) / (accepted * perFrame) : NaN,
      missed: slots > 0 && leaf ? Math.min(1, (count(leaf.missed_slots) - count(leafBefore?.missed_slots)) / slots) : NaN,
      refusedFrames: count(source?.refused_frames) - count(before?.refused_frames),
      behindMs: source ? ((latest - count(source.last_epoch)) * count(site.slot_ns)) / 1e6 : Infinity,
    };
    const words: string[] = [];
    if (source === undefined) words.push('Has not reported since the aggregator started. Is its node running?');
    else {
      if (facts.behindMs > SILENT_MS) words.push(`Silent for ${duration(facts.behindMs)}: its node or the network has stopped.`);
      const distance = distanceWords(facts, worst, site.classes.length > 0);
      if (distance !== undefined) words.push(distance);
    }
    if (facts.gated > NOTABLE_SHARE) words.push(`The gate leaves out ${percent(facts.gated)} of its tuples.`);
    if (facts.missed > NOTABLE_SHARE && source !== undefined) words.push(`${percent(facts.missed)} of the slots were fused without it: it is late, slow or lossy.`);
    if (leaf?.absent) words.push('Slots no longer wait for it.');
    if (facts.refusedFrames > 0) words.push(`${integer(facts.refusedFrames)} of its frames refused.`);
    if (words.length === 0) words.push('As far from the others as it claims.');
    return { ...facts, severity: source === undefined ? 'bad' : severityOf(facts, worst), words };
  });
  return verdicts.sort(
    (a, b) => RANK[a.severity] - RANK[b.severity] || b.consistency - a.consistency || b.behindMs - a.behindMs || a.source.localeCompare(b.source),
  );
}
