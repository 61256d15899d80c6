// The frame of the page: which view, which site, and whether the aggregator answers.
import { useEffect, useState } from 'preact/hooks';
import { outdated } from './api/client';
import { Poll, usePoll, type Polled } from './api/poll';
import type { ListSitesResponse, Site } from './api/types';
import { duration } from './model/numbers';
import { SiteHistory } from './model/site_history';
import { hashOf, parseRoute, VIEWS, type Route, type View } from './model/route';
import { Empty, Notice, State } from './ui/parts';
import { useTick } from './ui/tick';
import { FleetView } from './views/fleet/fleet';
import { LearningView } from './views/learning/learning';
import { LossView } from './views/loss';
import { RoomView } from './views/room/room';
import { SignIn } from './views/sign_in';
import { SourcesView } from './views/sources';
import { Who } from './views/who';

const TITLES: Record<View, string> = { room: 'Room', sources: 'Sources', learning: 'Learning', fleet: 'Fleet', loss: 'Loss' };
const LATE_MS = 5_000;

const sites = new Poll<ListSitesResponse>('api/v1/sites', 1_000);
const history = new SiteHistory(15 * 60_000);
sites.subscribe(() => {
  if (sites.state.problem === undefined && sites.state.answer !== undefined) history.add(Date.now(), sites.state.answer.sites);
});

function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseRoute(location.hash));
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return route;
}

export function go(view: View, name: string, parameters: Readonly<Record<string, string>> = {}): void {
  location.replace(hashOf(view, name, parameters));
}

function LinkState({ polled }: { polled: Polled<unknown> }) {
  useTick(1_000);
  if (polled.problem?.status === 401) return <State kind="warn">not signed in</State>;
  if (polled.answeredMs === 0) return <State kind="faint">{polled.problem === undefined ? 'connecting' : 'no answer'}</State>;
  const ageMs = performance.now() - polled.answeredMs;
  if (ageMs > LATE_MS) return <State kind="bad">no answer for {duration(ageMs)}</State>;
  return <State kind="good">connected</State>;
}

const OF_SITES: readonly View[] = ['room', 'sources', 'loss'];

function SiteView({ route, all }: { route: Route; all: readonly Site[] }) {
  const site = route.name === '' ? all[0] : all.find((each) => each.name === route.name);
  if (site === undefined) {
    return (
      <Empty title={all.length === 0 ? 'No site' : `There is no site “${route.name}”`}>
        <p>Sites are the <code>[[site]]</code> tables of the aggregator’s configuration.</p>
      </Empty>
    );
  }
  if (route.view === 'loss') return <LossView key={site.name} site={site} />;
  if (route.view === 'sources') return <SourcesView site={site} history={history} />;
  const number = Number(route.parameters.get('subject') ?? NaN);
  return (
    <RoomView site={site} subject={Number.isFinite(number) ? number : undefined}
      select={(subject) => go('room', site.name, subject === undefined ? {} : { subject: String(subject) })} />
  );
}

export function App() {
  const route = useRoute();
  const polled = usePoll(sites);
  const all = polled.answer?.sites ?? [];
  const ofSite = OF_SITES.includes(route.view);
  const shown = route.name === '' && ofSite ? (all[0]?.name ?? '') : route.name;
  const [signingIn, setSigningIn] = useState(false);
  const refused = polled.problem?.status === 401;
  useEffect(() => {
    document.title = `${TITLES[route.view]}${shown === '' ? '' : ` – ${shown}`} – Tributary`;
  }, [route.view, shown]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById('content')?.focus(); }}>Skip to the content</a>
      <header>
        <h1>Tributary</h1>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a href={hashOf(view, ofSite && OF_SITES.includes(view) ? route.name : '')} aria-current={view === route.view ? 'page' : undefined}>{TITLES[view]}</a>
          ))}
        </nav>
        {all.length > 1 && ofSite && (
          <label>
            site{' '}
            <select value={shown} onChange={(event) => go(route.view, event.currentTarget.value)}>
              {all.map((site) => <option value={site.name}>{site.name}</option>)}
            </select>
          </label>
        )}
        <Who ask={() => setSigningIn(true)} left={sites.wake} />
        <LinkState polled={polled} />
      </header>
      <main id="content" tabIndex={-1}>
        <h2 class="hidden">{TITLES[route.view]}</h2>
        {outdated && (
          <Notice kind="warn">
            The aggregator has another page than this one since it was updated. <button type="button" onClick={() => location.reload()}>Load it</button>
          </Notice>
        )}
        {(refused || signingIn) && <SignIn done={() => { setSigningIn(false); sites.wake(); }} />}
        {polled.problem !== undefined && !refused && (
          <Notice kind="bad">{polled.problem.message} {polled.answeredMs > 0 && 'What you see is old. '}The page asks again by itself.</Notice>
        )}
        {refused ? null : route.view === 'learning' ? <LearningView route={route} />
          : route.view === 'fleet' ? <FleetView />
          : polled.answer !== undefined && <SiteView route={route} all={all} />}
      </main>
    </>
  );
}
