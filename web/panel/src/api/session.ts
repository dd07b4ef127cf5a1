/**
 * The session that ended while somebody works. Calls that were refused for it wait here; the dialog (app/SessionDialog)
 * lets the person sign in again in a small window, and then they are repeated.
 */
type Listener = (waiting: boolean) => void;

let pending: { promise: Promise<void>; resolve: () => void } | null = null;
const listeners = new Set<Listener>();

export const session = {
  /** Resolves when the person has signed in again. */
  restored(): Promise<void> {
    if (!pending) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => (resolve = done));
      pending = { promise, resolve };
      listeners.forEach((listener) => listener(true));
    }
    return pending.promise;
  },
  resume() {
    pending?.resolve();
    pending = null;
    listeners.forEach((listener) => listener(false));
  },
  onChange(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

/** Messages between the panel's windows of one browser. */
export const channel = new BroadcastChannel("stead.session");
