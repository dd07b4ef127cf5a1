/** Something of this window that is lost with the page, such as drafts or uploads. */
interface Keeper {
  hasAny: () => boolean;
  discard: () => void;
}

const keepers: Keeper[] = [];

/** What is lost when the page is left. Whoever keeps such things adds themselves; whoever leaves asks, and then discards all. */
export const unsaved = {
  add: (keeper: Keeper) => void keepers.push(keeper),
  hasAny: () => keepers.some((keeper) => keeper.hasAny()),
  /** Gives everything up, so that the browser does not ask before the page goes. */
  discard: () => keepers.forEach((keeper) => keeper.discard()),
};
