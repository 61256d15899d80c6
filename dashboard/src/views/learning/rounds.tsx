// The rounds of a run, as curves and as a table.
import type { Round } from '../../api/types';
import { bytes, count, dateAndTime, duration, milliseconds, real, shortDigest, significant } from '../../model/numbers';
import { accuracyCurves, curve, judged } from '../../model/runs';
import { Chart } from '../../ui/chart';
import { Scrolling } from '../../ui/parts';

const SHOWN = 30;

export function Curves({ rounds }: { rounds: readonly Round[] }) {
  const along = rounds.map((round) => round.round);
  return (
    <div class="columns">
      <section>
        <h3>Loss</h3>
        <Chart label="Mean loss of the accepted updates by round" along={along} curves={[{ label: 'loss', values: curve(rounds, (round) => real(round.loss)) }]} />
      </section>
      {judged(rounds) && (
        <section>
          <h3>Accuracy on the operator’s images (%)</h3>
          <Chart label="Accuracy of linear probe and nearest neighbours by round, beside a random encoder" along={along} range={[0, 100]}
            curves={accuracyCurves(rounds)} />
        </section>
      )}
      {rounds.some((round) => real(round.spread) > 0) && (
        <section>
          <h3>Spread of features (0: all alike)</h3>
          <Chart label="Mean spread of the accepted updates' features by round" along={along} curves={[{ label: 'spread', values: curve(rounds, (round) => real(round.spread)) }]} />
        </section>
      )}
      <section>
        <h3>Combined update (L2 norm)</h3>
        <Chart label="L2 norm of the combined update by round" along={along} curves={[{ label: 'norm', values: curve(rounds, (round) => real(round.update_norm)) }]} />
      </section>
      <section>
        <h3>Updates (MB a round)</h3>
        <Chart label="Payload of the accepted updates by round" along={along} curves={[{ label: 'MB', values: curve(rounds, (round) => count(round.received_bytes) / 1e6) }]} />
      </section>
      {rounds.some((round) => real(round.epsilon) > 0) && (
        <section>
          <h3>Privacy spent (ε)</h3>
          <Chart label="Privacy spent by round" along={along} curves={[{ label: 'ε', values: curve(rounds, (round) => real(round.epsilon)) }]} />
        </section>
      )}
    </div>
  );
}

function outcome(round: Round): string {
  if (round.rolled_back) return `rolled back to round ${round.round}`;
  return round.failure === '' ? `model ${shortDigest(round.model_sha256)}` : round.failure;
}

function Trouble({ number }: { number: number }) {
  return <td class={number > 0 ? 'number bad' : 'number'}>{number}</td>;
}

export function Rounds({ history }: { history: readonly Round[] }) {
  return (
    <Scrolling label="Latest rounds">
      <table>
        <caption class="hidden">Latest rounds, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">round</th>
            <th scope="col">ended</th>
            <th scope="col" class="number">took</th>
            <th scope="col" class="number">accepted</th>
            <th scope="col" class="number">refused</th>
            <th scope="col" class="number" title="asked, and sent no update before the end">stragglers</th>
            <th scope="col" class="number">declined</th>
            <th scope="col" class="number">loss</th>
            <th scope="col" class="number">received</th>
            <th scope="col">outcome</th>
          </tr>
        </thead>
        <tbody>
          {history.slice(-SHOWN).reverse().map((round) => (
            <tr>
              <th scope="row">{round.round}</th>
              <td class="time">{dateAndTime(milliseconds(round.ended_unix_ns))}</td>
              <td class="number">{duration(milliseconds(round.ended_unix_ns) - milliseconds(round.started_unix_ns))}</td>
              <td class="number">{round.accepted} of {round.asked}</td>
              <Trouble number={round.refused} />
              <Trouble number={round.dropped} />
              <Trouble number={round.declined} />
              <td class="number">{significant(real(round.loss))}</td>
              <td class="number">{bytes(count(round.received_bytes))}</td>
              <td>{outcome(round)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}
