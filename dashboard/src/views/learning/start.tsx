// Starts a run from its configuration; faults stand beside their lines.
import { useState } from 'preact/hooks';
import { ApiProblem } from '../../api/client';
import { startRun } from '../../api/operations';
import { parseFaults, type Fault } from '../../model/faults';
import { hashOf } from '../../model/route';
import { Notice } from '../../ui/parts';

const EXAMPLE = `name = "letters"
rounds = 20
min_nodes = 2                  # connected nodes that a round needs to start
quorum = 2                     # updates that a round needs
deadline_s = 60                # of a round; later updates are refused

[strategy]
kind = "fedavg"

[client]
local_steps = 50
encoding = "int8"
`;

function FaultList({ faults, text }: { faults: readonly Fault[]; text: string }) {
  const lines = text.split('\n');
  return (
    <Notice kind="bad">
      <ul>
        {faults.map((fault) => (
          <li>
            {fault.line > 0 && <><strong>line {fault.line}:</strong> </>}{fault.text}
            {fault.line > 0 && lines[fault.line - 1] !== undefined && <pre>{lines[fault.line - 1]}</pre>}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

export function StartView({ started }: { started: () => void }) {
  const [text, setText] = useState(EXAMPLE);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [good, setGood] = useState(false);
  const [busy, setBusy] = useState(false);
  const send = async (check: boolean) => {
    setBusy(true);
    setGood(false);
    try {
      const answer = await startRun(text, check);
      setFaults([]);
      setGood(true);
      if (check) return;
      started();
      location.hash = hashOf('learning', answer.run?.name ?? '');
    } catch (problem) {
      setFaults(problem instanceof ApiProblem ? parseFaults(problem.message) : [{ line: 0, text: String(problem) }]);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p><a href={hashOf('learning')}>All runs</a></p>
      <h2>Start a run</h2>
      <label for="toml">Configuration of the run (TOML, as <code>tributary run start</code> takes it)</label>
      <textarea id="toml" class="toml" spellcheck={false} rows={20} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <div class="buttons">
        <button type="button" disabled={busy} onClick={() => void send(true)}>Check</button>
        <button type="button" disabled={busy} onClick={() => void send(false)}>Start</button>
      </div>
      {good && <Notice kind="info">The configuration has no fault.</Notice>}
      {faults.length > 0 && <FaultList faults={faults} text={text} />}
    </>
  );
}
