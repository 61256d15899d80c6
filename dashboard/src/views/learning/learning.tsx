// Federated learning: all runs, one run, or a new one.
import { offers } from '../../api/calls';
import { Poll, usePoll } from '../../api/poll';
import { useOperator } from '../../api/session';
import type { ListRunsResponse, Parent } from '../../api/types';
import { count, integer } from '../../model/numbers';
import { hashOf, type Route } from '../../model/route';
import { STATE_WORDS, stateKind } from '../../model/runs';
import { Empty, Notice, Scrolling, State } from '../../ui/parts';
import { RunView } from './run';
import { StartView } from './start';

const runs = new Poll<ListRunsResponse>('api/v1/runs', 1_000);

function ParentLine({ parent }: { parent: Parent }) {
  return (
    <p>
      This aggregator takes part in runs of <strong>{parent.aggregator}</strong> as {parent.node}:{' '}
      {integer(count(parent.accepted_sums))} sums accepted, {integer(count(parent.refused_sums))} refused. {parent.message}
    </p>
  );
}

export function LearningView({ route }: { route: Route }) {
  const { answer, problem } = usePoll(runs);
  const operator = useOperator();
  if (route.parameters.has('start')) return <StartView started={runs.wake} />;
  if (route.name !== '') return <RunView key={route.name} name={route.name} runs={answer?.runs ?? []} changed={runs.wake} />;
  if (answer === undefined && problem?.status === 404) {
    return <Empty title="No federated learning here"><p>Set <code>[federation]</code> in the aggregator’s configuration, and nodes can train together.</p></Empty>;
  }
  if (answer === undefined) return problem === undefined ? null : <Notice kind="bad">{problem.message}</Notice>;
  const start = operator && offers('post /api/v1/runs')
    ? <p><a class="button" href={hashOf('learning', '', { start: '1' })}>Start a run</a></p>
    : <p>An operator starts one here or with <code>tributary run start run.toml</code>.</p>;
  if (answer.runs.length === 0) {
    return <Empty title="No run yet"><p>A run trains one model on the nodes that have <code>[federation]</code> in their configuration.</p>{start}</Empty>;
  }
  return (
    <>
      {answer.parent !== undefined && <ParentLine parent={answer.parent} />}
      <Scrolling label="Runs">
        <table>
          <caption class="hidden">Runs, the newest first</caption>
          <thead>
            <tr>
              <th scope="col">run</th>
              <th scope="col">state</th>
              <th scope="col" class="number">rounds</th>
              <th scope="col" class="number">nodes</th>
              <th scope="col">this round</th>
              <th scope="col">strategy</th>
              <th scope="col">message</th>
            </tr>
          </thead>
          <tbody>
            {[...answer.runs].reverse().map((run) => (
              <tr key={run.name}>
                <th scope="row"><a href={hashOf('learning', run.name)}>{run.name}</a></th>
                <td><State kind={stateKind(run.state)}>{STATE_WORDS[run.state]}</State></td>
                <td class="number">{run.committed_rounds} of {run.rounds}</td>
                <td class="number">{run.connected_nodes} of {run.joined_nodes}</td>
                <td>{run.round > 0 ? `${run.accepted_updates} of ${run.asked_nodes} updates, ${run.quorum} needed` : '–'}</td>
                <td>{run.strategy}</td>
                <td>{run.message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {start}
    </>
  );
}
