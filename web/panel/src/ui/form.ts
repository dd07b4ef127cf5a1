import type { UseFormReturnType } from "@mantine/form";
import type { SyntheticEvent } from "react";

import { ApiFailure } from "~/api/failure";

import { useAction } from "./action";

/**
 * Shows what the interface says of single fields beside them, and moves the focus to the first. Answers what is left for
 * the note above the form: null when all of it stands beside fields.
 */
function showFailure<T extends Record<string, unknown>>(form: UseFormReturnType<T>, error: unknown): unknown {
  if (!(error instanceof ApiFailure)) return error;
  const known = Object.entries(error.fields).filter(([field]) => field in form.getValues());
  if (known.length === 0) return error;
  form.setErrors(Object.fromEntries(known.map(([field, texts]) => [field, texts.join(" ")])));
  const first = known[0]?.[0];
  if (first) form.getInputNode(first)?.focus();
  return known.length === Object.keys(error.fields).length ? null : error;
}

/** Sends a form: what is refused stands beside its fields, and the rest of it in `error`, for the note above the button. */
export function useSubmit<T extends Record<string, unknown>>(
  form: UseFormReturnType<T>,
  action: (values: T) => Promise<unknown>,
) {
  const [run, { error, clear }] = useAction(action, (failure) => showFailure(form, failure));
  const send = form.onSubmit((values) => run(values));
  const submit = (event?: SyntheticEvent<HTMLFormElement>) => {
    event?.stopPropagation(); // React's events leave a dialog for a form around its button
    return send(event);
  };
  return { submit, error, clear };
}
