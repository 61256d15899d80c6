// The models of a run, each with the round that made it; download, and the way back to an earlier one.
import { useMemo, useState } from 'preact/hooks';
import { offers } from '../../api/calls';
import { rollBack } from '../../api/operations';
import { Poll, usePoll } from '../../api/poll';
import { useOperator } from '../../api/session';
import type { ListModelsResponse, Model, Run } from '../../api/types';
import { bytes, count, dateAndTime, digest, milliseconds } from '../../model/numbers';
import { Confirm } from '../../ui/confirm';
import { Notice, Scrolling } from '../../ui/parts';

const SHOWN = 50;
const FORMATS = [{ extension: 'safetensors', word: 'safetensors' }, { extension: 'onnx', word: 'ONNX' }];

function Row({ run, model, operator, ask }: { run: Run; model: Model; operator: boolean; ask: (model: Model) => void }) {
  const name = digest(model.sha256);
  const back = operator && !model.current && offers('post /api/v1/models/rollback');
  return (
    <tr class={model.current ? 'chosen' : ''}>
      <th scope="row">{model.round === 0 ? 'initial' : model.round}</th>
      <td class="time">{dateAndTime(milliseconds(model.created_unix_ns))}</td>
      <td><code>{name.slice(0, 16)}…</code></td>
      <td class="number">{bytes(count(model.file_bytes))}</td>
      <td>
        <div class="buttons">
          {operator && FORMATS.map(({ extension, word }) => (
            <a class="button" download={`${run.name}-${model.round}.${extension}`} href={`api/v1/models/${name}.${extension}`}>
              {word}<span class="hidden"> of the model after round {model.round}</span>
            </a>
          ))}
          {model.current && 'current'}
          {back && <button type="button" onClick={() => ask(model)}>Roll back<span class="hidden"> to round {model.round}</span></button>}
        </div>
      </td>
    </tr>
  );
}

export function Models({ run, changed }: { run: Run; changed: () => void }) {
  const poll = useMemo(() => new Poll<ListModelsResponse>(`api/v1/models?run=${encodeURIComponent(run.name)}`, 5_000), [run.name]);
  const { answer, problem } = usePoll(poll);
  const operator = useOperator();
  const [asked, ask] = useState<Model | undefined>(undefined);
  if (answer === undefined) return problem === undefined ? null : <><h3>Models</h3><Notice kind="warn">{problem.message}</Notice></>;
  const models = [...answer.models].reverse();
  const act = async (model: Model) => {
    await rollBack(run.name, model.round);
    poll.wake();
    changed();
  };
  return (
    <>
      <h3>Models</h3>
      <Scrolling label="Models">
        <table>
          <caption class="hidden">Models, the newest first; each was made from the one below it</caption>
          <thead>
            <tr>
              <th scope="col">after round</th>
              <th scope="col">made</th>
              <th scope="col">SHA-256 of the parameters</th>
              <th scope="col" class="number">size</th>
              <th scope="col">use</th>
            </tr>
          </thead>
          <tbody>{models.slice(0, SHOWN).map((model) => <Row key={model.round} run={run} model={model} operator={operator} ask={ask} />)}</tbody>
        </table>
      </Scrolling>
      {models.length > SHOWN && <p>The {SHOWN} newest of {models.length} are shown; <code>tributary model list</code> prints all.</p>}
      {asked !== undefined && (
        <Confirm title={`Roll back ${run.name} to round ${asked.round}?`} verb="Roll back" danger close={() => ask(undefined)} act={() => act(asked)}>
          <p>The next round starts from the model after round {asked.round}. Later models stay in the list, and the history says that this happened.</p>
        </Confirm>
      )}
    </>
  );
}
