// Who looks at the page, and how to become somebody else.
import { usePoll } from '../api/poll';
import { session, signOut } from '../api/session';

export function Who({ ask, left }: { ask: () => void; left: () => void }) {
  const caller = usePoll(session).answer;
  // A stranger who may do everything is on the loopback, and has nothing to sign in to.
  if (caller === undefined || (caller.way === 'anonymous' && caller.role === 'operator')) return null;
  if (caller.way === 'session') {
    return (
      <span class="who">
        {caller.name} ({caller.role}) <button type="button" onClick={() => void signOut().then(left)}>Sign out</button>
      </span>
    );
  }
  return caller.way === 'anonymous'
    ? <span class="who"><button type="button" onClick={ask}>Sign in</button></span>
    : <span class="who">{caller.name} ({caller.role || 'no role'})</span>;
}
