// The room of a site, live: where its subjects are and how sure that is.
import { useEffect, useRef, useState } from 'preact/hooks';
import { request } from '../../api/client';
import type { Room, Site } from '../../api/types';
import { duration, integer, percent, significant } from '../../model/numbers';
import { planOf, type Plan, type Scale } from '../../model/plan';
import { Empty, Figure, Figures, Notice } from '../../ui/parts';
import { Redraw } from '../../ui/redraw';
import { colours, onTheme } from '../../ui/theme';
import { useTick } from '../../ui/tick';
import { BurstPicture } from './burst';
import { ClassTable, ConfusionTable, ProbabilityTable } from './classes';
import { Contributions } from './contributions';
import { LiveSite, STALE_MS } from './live_site';
import { drawRoom, subjectNear } from './picture';
import { SubjectTable } from './subject_table';
import { Timeline } from './timeline';

interface Properties {
  readonly site: Site;
  readonly subject: number | undefined;
  readonly select: (subject: number | undefined) => void;
}

export function RoomView({ site, subject, select }: Properties) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scale = useRef<Scale | undefined>(undefined);
  const chosen = useRef(subject);
  chosen.current = subject;
  const enlarge = useRef(true);
  const [live, setLive] = useState<LiveSite | undefined>(undefined);
  const plan = useRef<Plan | undefined>(undefined);
  useTick(250);

  useEffect(() => {
    let current: LiveSite | undefined;
    const redraw = new Redraw(() => {
      if (canvas.current === null || current === undefined) return;
      const fallback: Plan = { bounds: current.seen ?? { left: -5, bottom: -5, right: 5, top: 5 }, walls: [], panels: [] };
      scale.current = drawRoom(canvas.current, {
        history: current.history,
        index: current.index(),
        plan: plan.current ?? fallback,
        selected: chosen.current,
        sources: current.leaves,
        enlarged: enlarge.current ? current.enlargement(scale.current) : 1,
        colours: colours(),
      });
    });
    current = new LiveSite(site, () => redraw.request());
    current.follow(chosen.current);
    setLive(current);
    plan.current = undefined;
    if (site.has_room) {
      void request<Room>(`api/v1/sites/${encodeURIComponent(site.name)}/room`).then((room) => {
        plan.current = planOf(room);
        redraw.request();
      }, () => undefined); // without a plan, the picture fits what was seen
    }
    const forgetTheme = onTheme(() => redraw.request());
    const sizes = new ResizeObserver(() => redraw.request());
    if (canvas.current !== null) sizes.observe(canvas.current);
    return () => {
      current?.close();
      redraw.cancel();
      forgetTheme();
      sizes.disconnect();
    };
  }, [site.name, site.has_room, site.has_truth]);
  useEffect(() => live?.follow(subject), [live, subject]);

  const slot = live?.shown();
  const figures = live?.figures();
  const silentMs = live?.silentMs() ?? NaN;
  const paused = live?.pausedAtMs !== undefined;
  const categorical = site.classes.length > 0;
  const click = (event: MouseEvent) => {
    if (slot === undefined || scale.current === undefined) return;
    const near = subjectNear(slot, scale.current, event.offsetX, event.offsetY);
    select(near < 0 ? undefined : slot.subjects[near]);
  };

  return (
    <>
      {live?.link === 'lost' && (
        <Notice kind="bad">
          The connection to the aggregator is lost. The picture is {duration(silentMs)} old; the page connects again by itself.
        </Notice>
      )}
      {live?.link === 'open' && silentMs > STALE_MS && !paused && (
        <Notice kind="warn">
          The site has published nothing for {duration(silentMs)}. The connection stands: look at <a href={`#/sources/${encodeURIComponent(site.name)}`}>Sources</a>.
        </Notice>
      )}
      <div class={categorical ? 'room classes' : 'room'}>
        <div class="plan">
          <canvas ref={canvas} hidden={categorical} role="img" onClick={click}
            aria-label={`Plan of ${site.name} with ${slot?.subjects.length ?? 0} subjects; the table has the same positions`} />
          {slot === undefined && (
            <Empty title="No slot yet">
              <p>The site has fused nothing since the aggregator started. Start its nodes; <code>tributary status</code> lists who reports.</p>
            </Empty>
          )}
          {categorical && slot !== undefined && <ClassTable slot={slot} classes={site.classes} selected={subject} select={select} />}
          {live !== undefined && <Timeline live={live} />}
          {!categorical && (
            <label class="hint">
              <input type="checkbox" checked={enlarge.current} onChange={(event) => { enlarge.current = event.currentTarget.checked; live?.changed(); }} /> Enlarge ellipses that are too small to be seen
            </label>
          )}
          {categorical && live !== undefined && live.confusion.judged > 0 && <ConfusionTable confusion={live.confusion} classes={site.classes} />}
        </div>
        <div class="beside">
          <Figures>
            <Figure label="slots" value={figures ? `${significant(figures.slotsPerSecond)} /s` : '–'} />
            <Figure label="estimates" value={figures ? `${integer(figures.estimatesPerSecond)} /s` : '–'} />
            <Figure label="latency" value={figures ? duration(figures.latencyMs) : '–'} title="Median time from the earliest sample to the fused slot, by the clocks of node and aggregator" />
            <Figure label="complete" value={figures ? percent(figures.complete) : '–'} title="Estimates that contain every source" />
            {live !== undefined && live.confusion.judged > 0 && <Figure label="right" value={percent(live.confusion.right / live.confusion.judged)} />}
            {figures !== undefined && Number.isFinite(figures.meanErrorM) && (
              <Figure label="mean error" value={`${significant(100 * figures.meanErrorM)} cm`} />
            )}
          </Figures>
          {slot !== undefined && subject !== undefined && (categorical
            ? <><ProbabilityTable slot={slot} classes={site.classes} subject={subject} />{site.has_truth && <BurstPicture site={site} slot={slot} subject={subject} />}</>
            : <Contributions slot={slot} subject={subject} sources={live?.leaves ?? []} />)}
          {slot !== undefined && !categorical && <SubjectTable slot={slot} selected={subject} select={select} />}
          {!categorical && !site.has_room && <p class="hint">Walls and panels are drawn where <code>[site.room]</code> of the aggregator’s configuration has them.</p>}
          {categorical && subject === undefined && <p class="hint">Choose a subject to see the probabilities of every class.</p>}
        </div>
      </div>
    </>
  );
}
