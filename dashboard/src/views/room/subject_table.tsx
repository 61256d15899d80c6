// The subjects of a slot as a table: what the picture shows, for eyes that do not see it.
import { ellipseOf } from '../../model/ellipse';
import { significant } from '../../model/numbers';
import { errorM, horizontalFactor, type Slot } from '../../model/slot';
import { Scrolling } from '../../ui/parts';

interface Properties {
  readonly slot: Slot;
  readonly selected: number | undefined;
  readonly select: (subject: number | undefined) => void;
}

const AXES = ['x', 'y', 'z'];

function metres(value: number): string {
  return Number.isFinite(value) ? value.toFixed(3) : '–';
}

export function SubjectTable({ slot, selected, select }: Properties) {
  const axes = AXES.slice(0, slot.dimension);
  const rows = [...slot.subjects.keys()].sort((a, b) => slot.subjects[a]! - slot.subjects[b]!);
  const known = rows.some((i) => Number.isFinite(errorM(slot, i)));
  return (
    <Scrolling label="Subjects">
      <table class="subjects">
        <caption class="hidden">Subjects of the slot that is shown</caption>
        <thead>
          <tr>
            <th scope="col">subject</th>
            {axes.map((axis) => <th scope="col" class="number">{axis} (m)</th>)}
            <th scope="col" class="number" title="Standard deviation along the longest axis in the plane">σ (cm)</th>
            <th scope="col" class="number">sources</th>
            <th scope="col" class="number" title="About 1 where the sources agree as well as they claim">consistency</th>
            {known && <th scope="col" class="number">error (cm)</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((i) => {
            const subject = slot.subjects[i]!;
            const chosen = subject === selected;
            return (
              <tr key={subject} class={chosen ? 'chosen' : ''}>
                <th scope="row">
                  <button type="button" aria-pressed={chosen} onClick={() => select(chosen ? undefined : subject)}>{subject}</button>
                </th>
                {axes.map((_, k) => <td class="number">{metres(slot.means[i * slot.dimension + k]!)}</td>)}
                <td class="number">{significant(100 * ellipseOf(horizontalFactor(slot, i)).major)}</td>
                <td class={slot.contributors[i]! < slot.leaves ? 'number bad' : 'number'}>{slot.contributors[i]} of {slot.leaves}</td>
                <td class="number">{slot.contributors[i]! > 1 ? significant(slot.consistency[i]!) : '–'}</td>
                {known && <td class="number">{significant(100 * errorM(slot, i))}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scrolling>
  );
}
