// What the API says of runs, in words and as curves.
import type { Round, Run, RunState } from '../api/types';
import { real } from './numbers';

export const STATE_WORDS: Record<RunState, string> = {
  RUN_STATE_UNSPECIFIED: 'unknown',
  RUN_STATE_WAITING: 'waiting',
  RUN_STATE_RUNNING: 'running',
  RUN_STATE_PAUSED: 'paused',
  RUN_STATE_FINISHED: 'finished',
  RUN_STATE_STOPPED: 'stopped',
  RUN_STATE_FAILED: 'failed',
};

export function stateKind(state: RunState): 'good' | 'warn' | 'bad' | 'faint' {
  if (state === 'RUN_STATE_RUNNING' || state === 'RUN_STATE_FINISHED') return 'good';
  if (state === 'RUN_STATE_FAILED') return 'bad';
  return state === 'RUN_STATE_WAITING' || state === 'RUN_STATE_PAUSED' ? 'warn' : 'faint';
}

export function isOver(state: RunState): boolean {
  return state === 'RUN_STATE_FINISHED' || state === 'RUN_STATE_STOPPED' || state === 'RUN_STATE_FAILED';
}

export type Operation = 'pause' | 'resume' | 'stop' | 'delete';

// What an operator can do with a run in this state.
export function operationsOf(state: RunState): Operation[] {
  switch (state) {
    case 'RUN_STATE_WAITING':
    case 'RUN_STATE_RUNNING':
      return ['pause', 'stop'];
    case 'RUN_STATE_PAUSED':
      return ['resume', 'stop'];
    case 'RUN_STATE_FAILED':
      return ['resume', 'stop', 'delete'];
    default:
      return ['delete'];
  }
}

export const CONSEQUENCES: Record<Operation, (run: Run) => string> = {
  pause: (run) => `The round under way ends at its deadline, then ${run.name} starts no other. What was accepted stays, and nodes stay connected.`,
  resume: (run) => `${run.name} starts its next round as soon as enough nodes are connected.`,
  stop: (run) =>
    `${run.name} ends after ${run.committed_rounds} of ${run.rounds} rounds and cannot be resumed. The round under way is given up. Its models stay.`,
  delete: (run) => `${run.name} disappears with its history and all of its models. This cannot be undone.`,
};

// The runs that `tributary run split` has started for the clusters of a run under names that it gives by itself.
export function splitInto(run: Run, clusters: number, runs: readonly Run[]): string[] {
  const names = Array.from({ length: clusters }, (_, index) => `${run.name}-${index + 1}`);
  return names.filter((name) => runs.some((each) => each.name === name && each.named_nodes > 0));
}

// Lines of the history that are committed rounds, ascending; a roll-back hides the rounds after it.
export function committed(history: readonly Round[]): Round[] {
  const rounds: Round[] = [];
  for (const line of history) {
    if (line.rolled_back) {
      while (rounds.length > 0 && rounds.at(-1)!.round > line.round) rounds.pop();
    } else if (line.failure === '') {
      rounds.push(line);
    }
  }
  return rounds;
}

export function curve(rounds: readonly Round[], value: (round: Round) => number): (number | null)[] {
  return rounds.map((round) => {
    const number = value(round);
    return Number.isFinite(number) ? number : null;
  });
}

export function judged(rounds: readonly Round[]): boolean {
  return rounds.some((round) => round.evaluation !== undefined);
}

function probe(round: Round, key: 'linear_probe' | 'knn' | 'random_linear_probe' | 'random_knn'): number {
  return round.evaluation === undefined ? NaN : 100 * real(round.evaluation[key]);
}

// Accuracy of probe and nearest neighbours in per cent, each beside that of an encoder that was never trained.
export function accuracyCurves(rounds: readonly Round[]): { label: string; dashed: boolean; values: (number | null)[] }[] {
  const of = (label: string, key: Parameters<typeof probe>[1]) => ({
    label,
    dashed: key.startsWith('random'),
    values: curve(rounds, (round) => probe(round, key)),
  });
  return [
    of('linear probe', 'linear_probe'),
    of('nearest neighbours', 'knn'),
    of('probe, random encoder', 'random_linear_probe'),
    of('neighbours, random encoder', 'random_knn'),
  ];
}
