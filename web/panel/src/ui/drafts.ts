import { unsaved } from "~/api/unsaved";

/** What was typed into forms and not sent, by key. It outlives the page being drawn anew, as when the language changes. */
const kept = new Map<string, unknown>();

unsaved.add({ hasAny: () => kept.size > 0, discard: () => kept.clear() });

export const drafts = {
  get: <T>(key: string) => kept.get(key) as T | undefined,

  /** Keeps what a form holds now; null forgets it. */
  keep(key: string, value: object | null) {
    if (value === null) kept.delete(key);
    else kept.set(key, value);
  },

  /** The keys that begin with a text. */
  under: (prefix: string) => [...kept.keys()].filter((key) => key.startsWith(prefix)),

  /** Gives the drafts under a prefix another one, and each a new value. */
  move<T extends object>(from: string, to: string, change: (draft: T) => T) {
    for (const key of drafts.under(from)) {
      const draft = kept.get(key) as T;
      kept.delete(key);
      kept.set(to + key.slice(from.length), change(draft));
    }
  },
};
