// The page's address: #/VIEW[/NAME][?key=value…]. It can be shared; what it does not know, it ignores.

export const VIEWS = ['room', 'sources', 'learning', 'fleet', 'loss'] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  readonly name: string; // a site or a run; empty: the first one
  readonly parameters: ReadonlyMap<string, string>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const [, view = '', ...rest] = path.split('/');
  return {
    view: VIEWS.find((known) => known === view) ?? 'room',
    name: decoded(rest.join('/')),
    parameters: new Map(new URLSearchParams(query)),
  };
}

export function hashOf(view: View, name = '', parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '')).toString();
  return `#/${view}${name === '' ? '' : `/${encodeURIComponent(name)}`}${query === '' ? '' : `?${query}`}`;
}
