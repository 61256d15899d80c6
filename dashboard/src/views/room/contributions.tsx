// What each source says of the chosen subject.
import { ellipseOf } from '../../model/ellipse';
import { significant } from '../../model/numbers';
import type { Contribution, Slot } from '../../model/slot';
import { Scrolling } from '../../ui/parts';
import { colours, seriesColour } from '../../ui/theme';

const AXES = ['x', 'y', 'z'];

function Verdict({ each }: { each: Contribution }) {
  return <td class={each.leftOut === '' ? '' : 'bad'}>{each.leftOut === '' ? 'fused' : each.leftOut}</td>;
}

export function Contributions({ slot, subject, sources }: { slot: Slot; subject: number; sources: readonly string[] }) {
  const all = slot.contributions.filter((each) => each.subject === subject);
  if (all.length === 0) return <p>What the sources say of subject {subject} comes with the next slots.</p>;
  const axes = AXES.slice(0, slot.dimension);
  const palette = colours();
  return (
    <Scrolling label={`Sources of subject ${subject}`}>
      <table>
        <caption>What each source says of subject {subject}</caption>
        <thead>
          <tr>
            <th scope="col">source</th>
            {axes.map((axis) => <th scope="col" class="number">{axis} (m)</th>)}
            <th scope="col" class="number">σ (cm)</th>
            <th scope="col" class="number" title="How far it lies from the others; the number of dimensions is expected">distance</th>
            <th scope="col">became</th>
          </tr>
        </thead>
        <tbody>
          {all.map((each) => {
            return (
              <tr key={each.source}>
                <th scope="row"><span class="swatch" style={{ background: seriesColour(palette, Math.max(0, sources.indexOf(each.source))) }} />{each.source}</th>
                {axes.map((_, k) => <td class="number">{each.mean[k]?.toFixed(3) ?? '–'}</td>)}
                <td class="number">{significant(100 * ellipseOf([each.cholesky[0] ?? NaN, each.cholesky[1] ?? 0, each.cholesky[2] ?? 0]).major)}</td>
                <td class="number">{each.innovation === 0 ? '–' : significant(each.innovation)}</td>
                <Verdict each={each} />
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scrolling>
  );
}
