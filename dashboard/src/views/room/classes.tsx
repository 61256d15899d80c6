// A site whose subjects have classes: what each one is, how sure that is, and how often it is wrong.
import type { Confusion } from '../../model/confusion';
import { percent, significant } from '../../model/numbers';
import { mostLikelyClass, type Contribution, type Slot } from '../../model/slot';
import { Scrolling } from '../../ui/parts';

interface Properties {
  readonly slot: Slot;
  readonly classes: readonly string[];
  readonly selected: number | undefined;
  readonly select: (subject: number | undefined) => void;
}

function Bar({ share }: { share: number }) {
  return <div class="share" aria-hidden="true"><div style={{ width: `${100 * Math.min(1, share)}%` }} /></div>;
}

export function ClassTable({ slot, classes, selected, select }: Properties) {
  const rows = [...slot.subjects.keys()].sort((a, b) => slot.subjects[a]! - slot.subjects[b]!);
  return (
    <Scrolling label="Subjects">
      <table class="subjects">
        <caption class="hidden">Most likely class of each subject in the slot that is shown</caption>
        <thead>
          <tr>
            <th scope="col">subject</th>
            <th scope="col">class</th>
            <th scope="col" class="number">probability</th>
            <th scope="col"><span class="hidden">as a bar</span></th>
            <th scope="col" class="number">sources</th>
            <th scope="col" class="number" title="1 and less where the sources agree as well as they claim">consistency</th>
            {slot.truth !== undefined && <th scope="col">truth</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((i) => {
            const subject = slot.subjects[i]!;
            const chosen = subject === selected;
            const best = mostLikelyClass(slot, i, classes.length);
            const share = Math.exp(slot.logProbabilities[i * classes.length + best]!);
            const truth = slot.truth?.classes[i] ?? -1;
            return (
              <tr key={subject} class={chosen ? 'chosen' : ''}>
                <th scope="row"><button type="button" aria-pressed={chosen} onClick={() => select(chosen ? undefined : subject)}>{subject}</button></th>
                <td>{classes[best]}</td>
                <td class="number">{percent(share)}</td>
                <td><Bar share={share} /></td>
                <td class={slot.contributors[i]! < slot.leaves ? 'number bad' : 'number'}>{slot.contributors[i]} of {slot.leaves}</td>
                <td class="number">{significant(slot.consistency[i]!)}</td>
                {slot.truth !== undefined && <td class={truth >= 0 && truth !== best ? 'bad' : ''}>{classes[truth] ?? '–'}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scrolling>
  );
}

// Rows are classes, columns the fused estimate and each source.
export function ProbabilityTable({ slot, classes, subject }: { slot: Slot; classes: readonly string[]; subject: number }) {
  const i = slot.subjects.indexOf(subject);
  if (i < 0) return <p>Subject {subject} is not in this slot.</p>;
  const told = slot.contributions.filter((each) => each.subject === subject);
  const cell = (each: Contribution, c: number) => percent(Math.exp(each.logProbabilities[c] ?? NaN));
  return (
    <Scrolling label={`Probabilities of subject ${subject}`}>
      <table>
        <caption>Subject {subject}: probability of each class, fused and by source</caption>
        <thead>
          <tr>
            <th scope="col">class</th>
            <th scope="col" class="number">fused</th>
            <th scope="col"><span class="hidden">fused, as a bar</span></th>
            {told.map((each) => <th scope="col" class="number">{each.source}{each.leftOut !== '' && ` (${each.leftOut})`}</th>)}
          </tr>
        </thead>
        <tbody>
          {classes.map((name, c) => {
            const share = Math.exp(slot.logProbabilities[i * classes.length + c]!);
            return (
              <tr key={name} class={slot.truth?.classes[i] === c ? 'chosen' : ''}>
                <th scope="row">{name}{slot.truth?.classes[i] === c && ' (true)'}</th>
                <td class="number">{percent(share)}</td>
                <td><Bar share={share} /></td>
                {told.map((each) => <td class="number">{cell(each, c)}</td>)}
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scrolling>
  );
}

export function ConfusionTable({ confusion, classes }: { confusion: Confusion; classes: readonly string[] }) {
  return (
    <Scrolling label="Confusion">
      <table>
        <caption>What is true (rows) and what was said (columns), % of each row; {confusion.judged.toLocaleString('en')} estimates since the page was opened, {percent(confusion.right / confusion.judged)} right</caption>
        <thead><tr><th scope="col">true</th>{classes.map((name) => <th scope="col" class="number">{name}</th>)}</tr></thead>
        <tbody>
          {classes.map((name, truth) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {classes.map((_, said) => {
                const share = confusion.share(truth, said);
                return <td class={said === truth ? 'number chosen' : 'number'}>{Number.isFinite(share) ? Math.round(100 * share) : '–'}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}
