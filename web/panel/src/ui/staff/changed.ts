import { useQueryClient } from "@tanstack/react-query";

import { done } from "~/ui/notice";

/** Returns the last step of an act of staff: it loads what pages of staff show again, then says that the act is done. */
export function useChanged() {
  const queries = useQueryClient();
  return async (message: string) => {
    await queries.invalidateQueries({ queryKey: ["staff"] });
    done(message);
  };
}
