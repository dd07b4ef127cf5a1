import { useState } from "react";

/**
 * What a button or a form does, to be called, and how it goes: `busy` while it is under way, `error` when it was refused, for
 * a note beside it. The call answers whether it succeeded. `explain` may show the refusal elsewhere and leave less for the note.
 */
export function useAction<Args extends unknown[]>(
  action: (...args: Args) => Promise<unknown>,
  explain: (failure: unknown) => unknown = (failure) => failure,
) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (...args: Args) => {
    setBusy(true);
    setError(null);
    try {
      await action(...args);
      return true;
    } catch (failure) {
      setError(explain(failure));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return [run, { busy, error, clear: () => setError(null) }] as const;
}
