// Asks for a document again and again while somebody looks at it.
import { useEffect, useState } from 'preact/hooks';
import { ApiProblem, request } from './client';

export interface Polled<Answer> {
  readonly answer: Answer | undefined; // the latest one, which may be old
  readonly answeredMs: number; // performance.now() of it; 0: none yet
  readonly problem: ApiProblem | undefined; // of the latest request
}

// One document. Requests never overlap; a hidden page makes none.
export class Poll<Answer> {
  state: Polled<Answer> = { answer: undefined, answeredMs: 0, problem: undefined };
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private busy = false;

  constructor(
    readonly path: string,
    private readonly periodMs: number,
    private readonly read: (path: string) => Promise<Answer> = request,
  ) {}

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) document.addEventListener('visibilitychange', this.wake);
    this.wake();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      document.removeEventListener('visibilitychange', this.wake);
      clearTimeout(this.timer);
    };
  }

  // Asks now: after an operation, the answer has changed.
  readonly wake = (): void => {
    if (this.busy || document.hidden || this.listeners.size === 0) return;
    clearTimeout(this.timer);
    this.busy = true;
    void this.ask().finally(() => {
      this.busy = false;
      if (this.listeners.size > 0 && !document.hidden) this.timer = setTimeout(this.wake, this.periodMs);
    });
  };

  private async ask(): Promise<void> {
    try {
      const answer = await this.read(this.path);
      this.state = { answer, answeredMs: performance.now(), problem: undefined };
    } catch (problem) {
      const known = problem instanceof ApiProblem ? problem : new ApiProblem(0, String(problem));
      this.state = { ...this.state, problem: known };
    }
    for (const listener of [...this.listeners]) listener();
  }
}

// Renders again with each answer. `poll` may change.
export function usePoll<Answer>(poll: Poll<Answer>): Polled<Answer> {
  const [, render] = useState({});
  useEffect(() => poll.subscribe(() => render({})), [poll]);
  return poll.state;
}
