// One run: how it goes, who takes part, its models, and what can be done with it.
import { useMemo, useState } from 'preact/hooks';
import { offers } from '../../api/calls';
import { CALLS, operate } from '../../api/operations';
import { Poll, usePoll } from '../../api/poll';
import { useOperator } from '../../api/session';
import type { GetRunResponse, Run } from '../../api/types';
import { count, duration, integer, milliseconds, real, significant } from '../../model/numbers';
import { hashOf } from '../../model/route';
import { committed, CONSEQUENCES, isOver, operationsOf, STATE_WORDS, stateKind, type Operation } from '../../model/runs';
import { Confirm } from '../../ui/confirm';
import { Figure, Figures, Notice, Scrolling, State } from '../../ui/parts';
import { FoundClusters } from './clusters';
import { Models } from './models';
import { Nodes } from './nodes';
import { Curves, Rounds } from './rounds';

function Operations({ run, changed, deleted }: { run: Run; changed: () => void; deleted: () => void }) {
  const [asked, ask] = useState<Operation | undefined>(undefined);
  const dangerous = (operation: Operation) => operation === 'stop' || operation === 'delete';
  const capital = (operation: Operation) => operation[0]!.toUpperCase() + operation.slice(1);
  const act = async (operation: Operation) => {
    await operate(run, operation);
    if (operation === 'delete') deleted();
    else changed();
  };
  return (
    <div class="buttons">
      {operationsOf(run.state).filter((operation) => offers(CALLS[operation])).map((operation) => (
        <button type="button" class={dangerous(operation) ? 'danger' : ''} onClick={() => ask(operation)}>{capital(operation)}</button>
      ))}
      {asked !== undefined && (
        <Confirm title={`${capital(asked)} ${run.name}?`} verb={`${capital(asked)} the run`} danger={dangerous(asked)} close={() => ask(undefined)} act={() => act(asked)}>
          <p>{CONSEQUENCES[asked](run)}</p>
        </Confirm>
      )}
    </div>
  );
}

function RunFigures({ run }: { run: Run }) {
  const leftMs = milliseconds(run.deadline_unix_ns) - Date.now();
  return (
    <Figures>
      <Figure label="rounds" value={`${run.committed_rounds} of ${run.rounds}`} />
      <Figure label="nodes" value={`${run.connected_nodes} of ${run.joined_nodes}`} title="connected now, of those that have ever taken part" />
      <Figure label={run.round > 0 ? `updates in round ${run.round}` : 'updates'} value={run.round > 0 ? `${run.accepted_updates} of ${run.asked_nodes}` : '–'} title={`${run.quorum} are needed`} />
      {run.round > 0 && leftMs > 0 && <Figure label="until the deadline" value={duration(leftMs)} />}
      <Figure label="refused updates" value={integer(count(run.refused_updates))} />
      <Figure label="declined tasks" value={integer(count(run.total_declined_tasks))} />
      {real(run.epsilon) > 0 && <Figure label="ε spent" value={significant(real(run.epsilon))} title={`for δ = ${run.delta}`} />}
      <Figure label="parameters" value={integer(count(run.element_count))} />
    </Figures>
  );
}

// `runs`: all that the aggregator tells of.
export function RunView({ name, runs, changed }: { name: string; runs: readonly Run[]; changed: () => void }) {
  const poll = useMemo(() => new Poll<GetRunResponse>(`api/v1/runs/${encodeURIComponent(name)}?rounds=1000&nodes=1000`, 1_500), [name]);
  const { answer, problem } = usePoll(poll);
  const operator = useOperator();
  const run = answer?.run;
  if (answer === undefined || run === undefined) return problem === undefined ? null : <Notice kind="bad">{problem.message}</Notice>;
  const rounds = committed(answer.history);
  const update = () => {
    poll.wake();
    changed();
  };
  // The view is left before anything asks for the run again.
  const left = () => {
    location.replace(hashOf('learning'));
    changed();
  };
  return (
    <>
      <p><a href={hashOf('learning')}>All runs</a></p>
      <div class="title">
        <h2>{run.name}</h2>
        <State kind={stateKind(run.state)}>{STATE_WORDS[run.state]}</State>
        {operator && <Operations run={run} changed={update} deleted={left} />}
      </div>
      {run.message !== '' && <p>{run.message}</p>}
      {problem !== undefined && <Notice kind="bad">{problem.message} What you see is old.</Notice>}
      <RunFigures run={run} />
      {rounds.length > 0 && <Curves rounds={rounds} />}
      <h3>Nodes</h3>
      {answer.participants.length === 0
        ? <p>No node has joined. A node joins if <code>[federation]</code> in its configuration names this aggregator.</p>
        : <Nodes participants={answer.participants} round={run.round} over={isOver(run.state)} />}
      {answer.next_node !== '' && <p>There are more nodes than these {answer.participants.length}; <code>tributary run show</code> prints all.</p>}
      {answer.clusters !== undefined && <><h3>Clusters</h3><FoundClusters run={run} found={answer.clusters} runs={runs} /></>}
      {answer.history.length > 0 && <><h3>Latest rounds</h3><Rounds history={answer.history} /></>}
      {offers('get /api/v1/models') && <Models run={run} changed={update} />}
      <h3>Configuration</h3>
      <Scrolling label="Configuration"><pre>{run.config}</pre></Scrolling>
    </>
  );
}
