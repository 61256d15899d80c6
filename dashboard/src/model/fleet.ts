// The nodes of an aggregator: what is wrong with each, and how fast it reports.
import type { Node, NodeCheck } from '../api/types';
import { count, duration, milliseconds, plural } from './numbers';

const SOON_MS = 14 * 86_400_000;
// A few frames that were refused after a start are no trouble for ever: this share of all frames is.
const NOTABLE_SHARE = 0.01;

export function checkWords(check: NodeCheck): string {
  return `${check.check}: ${check.found}.${check.remedy === '' ? '' : ` ${check.remedy}.`}`;
}

// What may go wrong: the node does what it is asked to.
export function warningsOf(node: Node): string[] {
  return (node.status?.checks ?? []).filter((check) => check.finding === 'CHECK_FINDING_WARNING').map(checkWords);
}

// What an operator should know first; empty: all is well.
export function troublesOf(node: Node, nowMs: number): string[] {
  const troubles: string[] = [];
  if (!node.connected && !node.learns.some((each) => each.connected)) troubles.push('Not connected.');
  for (const problem of node.status?.problems ?? []) troubles.push(problem);
  for (const check of node.status?.checks ?? []) if (check.finding === 'CHECK_FINDING_FAULT') troubles.push(checkWords(check));
  const expiresMs = milliseconds(node.certificate_expires_unix_ns);
  if (expiresMs > 0 && expiresMs < nowMs) troubles.push('Its certificate has expired.');
  else if (expiresMs > 0 && expiresMs - nowMs < SOON_MS) troubles.push(`Its certificate expires in ${duration(expiresMs - nowMs)}.`);
  const refused = count(node.refused_frames);
  const dropped = count(node.dropped_frames);
  const notable = NOTABLE_SHARE * (count(node.accepted_frames) + refused + dropped);
  if (refused > notable) troubles.push(`${plural(refused, 'frame')} refused.`);
  if (dropped > notable) troubles.push(`It dropped ${plural(dropped, 'frame')} before they were acknowledged.`);
  for (const learning of node.learns) {
    if (learning.last_refusal !== '') troubles.push(`${learning.run || 'learning'}: ${learning.last_refusal}`);
  }
  return troubles;
}

export function keyOf(node: Node): string {
  return `${node.site}\n${node.name}`;
}

// Frames per second of each node since the previous answer.
export class FrameRates {
  private before = new Map<string, { frames: number; timeMs: number }>();
  private readonly rates = new Map<string, number>();

  take(nodes: readonly Node[], timeMs: number): void {
    const now = new Map<string, { frames: number; timeMs: number }>();
    for (const node of nodes) {
      const key = keyOf(node);
      const frames = count(node.accepted_frames);
      now.set(key, { frames, timeMs });
      const then = this.before.get(key);
      if (then === undefined || timeMs <= then.timeMs || frames < then.frames) this.rates.delete(key);
      else this.rates.set(key, (1000 * (frames - then.frames)) / (timeMs - then.timeMs));
    }
    this.before = now;
  }

  of(node: Node): number {
    return this.rates.get(keyOf(node)) ?? NaN;
  }
}

// Troubled nodes first, then those with warnings, then by site and name.
export function inOrder(nodes: readonly Node[], nowMs: number): Node[] {
  const weight = (node: Node) => (troublesOf(node, nowMs).length > 0 ? 0 : warningsOf(node).length > 0 ? 1 : 2);
  return [...nodes].sort((a, b) => weight(a) - weight(b) || a.site.localeCompare(b.site) || a.name.localeCompare(b.name));
}

export function matches(node: Node, words: string): boolean {
  const text = `${node.name} ${node.site} ${node.model_name} ${node.sources.join(' ')} ${node.learns.map((each) => each.run).join(' ')}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
