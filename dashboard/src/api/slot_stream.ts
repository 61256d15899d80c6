// The fused slots of a site as server-sent events. A lost connection is opened again; a hidden page has none, because a browser
// gives all pages of a host together six connections.
import type { WatchResponse } from './types';

export type LinkState = 'connecting' | 'open' | 'lost';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 5_000;

export class SlotStream {
  private events: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private retryMs = FIRST_RETRY_MS;
  private opened = false;
  private choice = 0;
  state: LinkState = 'connecting';

  constructor(
    // A refused address is followed by the next one: the first one asks for more.
    private readonly addresses: readonly string[],
    private readonly onSlot: (response: WatchResponse) => void,
    private readonly onState: (state: LinkState) => void,
  ) {
    document.addEventListener('visibilitychange', this.follow);
    this.follow();
  }

  close(): void {
    document.removeEventListener('visibilitychange', this.follow);
    this.disconnect();
  }

  private readonly follow = (): void => {
    if (document.hidden) this.disconnect();
    else if (this.events === undefined) this.connect();
  };

  private disconnect(): void {
    clearTimeout(this.timer);
    this.events?.close();
    this.events = undefined;
  }

  private connect(): void {
    this.disconnect();
    const events = new EventSource(this.addresses[this.choice % this.addresses.length]!);
    this.events = events;
    this.opened = false;
    events.onopen = () => {
      this.opened = true;
      this.retryMs = FIRST_RETRY_MS;
      this.say('open');
    };
    events.onmessage = (event: MessageEvent<string>) => {
      try {
        this.onSlot(JSON.parse(event.data) as WatchResponse);
      } catch (fault) {
        console.warn('an event that is not a slot:', fault);
      }
    };
    events.onerror = () => {
      this.say('lost');
      // The browser reconnects by itself after a cut, but gives up on a refusal.
      if (events.readyState !== EventSource.CLOSED) return;
      if (!this.opened) ++this.choice;
      this.disconnect();
      this.timer = setTimeout(() => this.connect(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, LONGEST_RETRY_MS);
    };
  }

  private say(state: LinkState): void {
    if (this.state === state) return;
    this.state = state;
    this.onState(state);
  }
}
