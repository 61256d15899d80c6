// What an operator can do.
import type { RollBackModelResponse, Run, StartRunResponse } from './types';
import { request } from './client';
import type { Operation } from '../model/runs';

export const CALLS: Record<Operation, string> = {
  pause: 'post /api/v1/runs/{run}/pause',
  resume: 'post /api/v1/runs/{run}/resume',
  stop: 'post /api/v1/runs/{run}/stop',
  delete: 'delete /api/v1/runs/{run}',
};

function runPath(run: string): string {
  return `api/v1/runs/${encodeURIComponent(run)}`;
}

export async function operate(run: Run, operation: Operation): Promise<void> {
  if (operation === 'delete') await request(runPath(run.name), { method: 'DELETE' });
  else await request(`${runPath(run.name)}/${operation}`, { method: 'POST' });
}

// With `check`, the aggregator only says what is wrong: an ApiProblem with a line per fault.
export function startRun(toml: string, check: boolean): Promise<StartRunResponse> {
  return request(`api/v1/runs${check ? '?check=true' : ''}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/toml' },
    body: toml,
  });
}

export function rollBack(run: string, round: number): Promise<RollBackModelResponse> {
  return request(`api/v1/models/rollback?run=${encodeURIComponent(run)}&round=${round}`, { method: 'POST' });
}
