import { useState } from "react";

export interface Edited {
  /** The version of the file that was read last. */
  seen: string;
  /** The version that the text began with. */
  base: string;
  text: string;
}

/** What is edited once the file has become `latest`. The new version replaces the text only where nothing typed is lost by it. */
export const follow = (edited: Edited, latest: string): Edited => {
  if (latest === edited.seen) return edited;
  const kept = edited.text !== edited.base && edited.text !== latest;
  return kept ? { ...edited, seen: latest } : { seen: latest, base: latest, text: latest };
};

/** A file that somebody edits, of which colleagues may publish versions meanwhile. */
export function useEdited(latest: string) {
  const [kept, setKept] = useState<Edited>({ seen: latest, base: latest, text: latest });
  const edited = follow(kept, latest);
  if (edited !== kept) setKept(edited);
  const { seen, base, text } = edited;
  return {
    text,
    changed: text !== base,
    /** Somebody has published another version than the one that is edited. */
    moved: text !== base && base !== seen,
    canReset: text !== seen,
    edit: (next: string) => setKept((before) => ({ ...before, text: next })),
    reset: () => setKept({ seen, base: seen, text: seen }),
    /** A text was published; the version that the server made of it follows. */
    published: (sent: string) => setKept((before) => ({ ...before, base: sent })),
  };
}
