// Who the aggregator takes this page for, and so what it may do. The aggregator checks every call by itself; the page only hides
// what would be refused.
import { request } from './client';
import { Poll, usePoll } from './poll';
import type { Caller } from './types';

const PATH = 'api/v1/session';

export const session = new Poll<Caller>(PATH, 5_000);

export function useOperator(): boolean {
  return usePoll(session).answer?.role === 'operator';
}

// The answer sets a cookie that scripts cannot read; the token is not kept.
export async function signIn(token: string): Promise<void> {
  await request(PATH, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  session.wake();
}

export async function signOut(): Promise<void> {
  await request(PATH, { method: 'DELETE' });
  session.wake();
}
