type Listener = (waiting: boolean) => void;

/** A question to the person that calls wait for; a dialog asks it, and then they are repeated or given up. */
class Gate {
  private pending: { promise: Promise<boolean>; resolve: (passed: boolean) => void } | null = null;
  private readonly listeners = new Set<Listener>();

  /** Resolves when the question is answered: true when the call can be repeated. */
  passed(): Promise<boolean> {
    if (!this.pending) {
      let resolve = (_: boolean) => {};
      const promise = new Promise<boolean>((done) => (resolve = done));
      this.pending = { promise, resolve };
      this.listeners.forEach((listener) => listener(true));
    }
    return this.pending.promise;
  }
  resume(passed = true) {
    this.pending?.resolve(passed);
    this.pending = null;
    this.listeners.forEach((listener) => listener(false));
  }
  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The session that ended while somebody works: app/SessionDialog lets the person sign in again in a small window. */
export const session = new Gate();

/** What needs a recent proof of who the person is: app/IdentityDialog asks for the password. */
export const identity = new Gate();

/** Leaving the panel with something unsaved: app/LeaveDialog asks whether to give it up. */
export const leaving = new Gate();

/** Messages between the panel's windows of one browser. */
export const channel = new BroadcastChannel("stead.session");
