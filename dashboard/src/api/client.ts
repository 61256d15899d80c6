// Requests to the aggregator that serves this page; none leaves the host.

// An answer with a status of 400 or more, or none at all (status 0).
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const TIMEOUT_MS = 10_000;
const BUILD = document.querySelector('meta[name="tributary-page"]')?.getAttribute('content');

// Whether the aggregator has another page built in than this one: what this page asks may be answered in other words.
export let outdated = false;

function compareBuild(theirs: string | null): void {
  outdated = theirs !== null && BUILD !== 'development' && theirs !== BUILD;
}

export async function request<Answer>(path: string, options: RequestInit = {}): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(path, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS), credentials: 'same-origin' });
  } catch {
    throw new ApiProblem(0, 'The aggregator does not answer.');
  }
  compareBuild(response.headers.get('Tributary-Page'));
  const text = await response.text().catch(() => '');
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new ApiProblem(response.status, `${path}: the answer is not JSON`);
  }
  if (response.ok) return body as Answer;
  const error = (body as { error?: unknown } | undefined)?.error;
  throw new ApiProblem(response.status, typeof error === 'string' ? error : `${path}: status ${response.status}`);
}

export function siteParameter(site: string): string {
  return `site=${encodeURIComponent(site)}`;
}
