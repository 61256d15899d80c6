// Asks for a token where the aggregator wants to know who looks.
import { useState } from 'preact/hooks';
import { ApiProblem } from '../api/client';
import { signIn } from '../api/session';
import { Notice } from '../ui/parts';

export function SignIn({ done }: { done: () => void }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState('');
  const send = async (event: Event) => {
    event.preventDefault();
    try {
      await signIn(token.trim());
      done();
    } catch (fault) {
      setProblem(fault instanceof ApiProblem ? fault.message : String(fault));
    } finally {
      setToken('');
    }
  };
  return (
    <form onSubmit={(event) => void send(event)}>
      <h2>Sign in</h2>
      <p>
        This aggregator asks who you are. On its host, <code>tributary token create --file tokens.toml --name me --role viewer</code> prints a token that shows everything;{' '}
        <code>--role operator</code>, one that also controls runs. The file is the one that <code>tokens</code> in <code>[access]</code> of the aggregator’s configuration names.
      </p>
      {problem !== '' && <Notice kind="bad">{problem}</Notice>}
      <div class="buttons">
        <label>Token <input type="password" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>
        <button type="submit">Sign in</button>
      </div>
    </form>
  );
}
