import { ApiFailure } from "~/api/failure";

export const isGone = (error: unknown) => error instanceof ApiFailure && error.status === 404;

/**
 * Work on several things, one after the other. After a failure another call goes on with the rest: what is done is not done
 * twice, and what is not there any more is not waited for.
 */
export class Batch<T> {
  /** How many are done. */
  count = 0;

  constructor(public left: readonly T[]) {}

  /** Works until all are done, or one fails; `changed` is told after each that is left no more. */
  async each(work: (one: T) => Promise<unknown>, changed: () => void) {
    for (const one of this.left) {
      try {
        await work(one);
        this.count++;
      } catch (error) {
        if (isGone(error)) this.drop(one, changed);
        throw error;
      }
      this.drop(one, changed);
    }
  }

  private drop(one: T, changed: () => void) {
    this.left = this.left.filter((other) => other !== one);
    changed();
  }
}
