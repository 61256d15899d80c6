// Where frames and tuples went, and whether it adds up.
import type { FlowAccount, Node } from '../api/types';
import { count } from './numbers';

export type FlowKind = 'good' | 'waiting' | 'lost';

export interface FlowRow {
  readonly label: string;
  readonly kind: FlowKind;
  readonly count: number;
  readonly share: number;
  readonly metric: string;
}

const GOOD = ['taken', 'fused'];
const WAITING = ['under way', 'waiting', 'replaced', 'redundant'];

export interface Account {
  readonly total: number;
  readonly rows: readonly FlowRow[];
  readonly missing: number; // what the rows do not explain
}

export function accountOf(account: FlowAccount | undefined): Account {
  const total = count(account?.total);
  const rows = (account?.entries ?? []).map((entry): FlowRow => {
    const number = count(entry.count);
    return {
      label: entry.reason === '' ? entry.place : `${entry.place}: ${entry.reason.replaceAll('_', ' ')}`,
      kind: GOOD.includes(entry.place) ? 'good' : WAITING.includes(entry.place) ? 'waiting' : 'lost',
      count: number,
      share: total > 0 ? number / total : 0,
      metric: entry.metric,
    };
  });
  return { total, rows, missing: total - rows.reduce((sum, row) => sum + row.count, 0) };
}

// What a node offered, and what became of it as far as anybody counted.
export interface NodeBalance {
  readonly node: string;
  readonly offered: number;
  readonly explained: number;
  readonly missing: number; // positive: gone without a count
  readonly addsUp: boolean;
}

function explained(node: Node): number {
  return count(node.accepted_frames) + count(node.refused_frames) + count(node.dropped_frames) + count(node.status?.held_frames);
}

// Since `base`, the same node some time before. A node tells its numbers once a second and the aggregator counts at once: what arrives
// in two seconds may be on one side only. Undefined: one of the two began anew in between, or the node tells nothing.
export function balanceOf(now: Node, base: Node, seconds: number): NodeBalance | undefined {
  if (now.status === undefined || base.status === undefined || now.status.started_unix_ns !== base.status.started_unix_ns) return undefined;
  if (count(now.accepted_frames) < count(base.accepted_frames) || seconds <= 0) return undefined;
  const offered = count(now.status.offered_frames) - count(base.status.offered_frames);
  const known = explained(now) - explained(base);
  const missing = offered - known;
  const tolerance = 1 + (2 * Math.max(offered, known)) / seconds;
  return { node: now.name, offered, explained: known, missing, addsUp: Math.abs(missing) <= tolerance };
}
