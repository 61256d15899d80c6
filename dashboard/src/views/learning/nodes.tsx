// The nodes of a run: who is asked, who is late, who cannot.
import type { Participant } from '../../api/types';
import { count, integer } from '../../model/numbers';
import { Scrolling, State } from '../../ui/parts';

function Standing({ node, round, over }: { node: Participant; round: number; over: boolean }) {
  if (!node.connected && over) return <State kind="faint">left</State>;
  if (!node.connected) return <State kind="bad">not connected</State>;
  if (node.cannot_train !== '') return <State kind="bad">cannot train</State>;
  if (round > 0 && node.last_round < round) return <State kind="warn">owes round {round}</State>;
  return <State kind="good">connected</State>;
}

// `over`: the run has ended, and nodes go.
export function Nodes({ participants, round, over }: { participants: readonly Participant[]; round: number; over: boolean }) {
  return (
    <Scrolling label="Nodes of the run">
      <table>
        <caption class="hidden">Nodes of the run</caption>
        <thead>
          <tr>
            <th scope="col">node</th>
            <th scope="col">state</th>
            <th scope="col" class="number">samples</th>
            <th scope="col" class="number">last round</th>
            <th scope="col" class="number">accepted</th>
            <th scope="col" class="number">refused</th>
            <th scope="col" class="number">missed rounds</th>
            <th scope="col">what is wrong</th>
          </tr>
        </thead>
        <tbody>
          {participants.map((node) => (
            <tr key={node.node}>
              <th scope="row">{node.node}</th>
              <td><Standing node={node} round={round} over={over} /></td>
              <td class="number">{integer(count(node.sample_count))}</td>
              <td class="number">{node.last_round === 0 ? '–' : node.last_round}</td>
              <td class="number">{integer(count(node.accepted_updates))}</td>
              <td class="number">{integer(count(node.refused_updates))}</td>
              <td class="number">{integer(count(node.dropped_rounds))}</td>
              <td>{node.cannot_train || node.last_refusal}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}
