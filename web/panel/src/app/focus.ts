/** An element that had the focus, and where it stood. */
interface Place {
  element: HTMLElement;
  /** The elements around it within the page, from the inner to the outer, each with the position of the one before in it. */
  around: { element: Element; index: number }[];
  path: string;
}

const reachable =
  "a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled)";

/**
 * Keeps the focus in the page when the element that has it goes away, such as the button of a row that was deleted: what
 * stands in its place gets it, else the page's title. An element that is disabled for a moment, such as the button of a
 * form that is being sent, gets it back.
 */
export function keepFocus() {
  let inPage: Place | null = null;
  let last: HTMLElement | null = null;
  let disabled: HTMLElement | null = null;

  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    last = target;
    disabled = null;
    if (target.closest("main")) inPage = placeOf(target);
  });
  // Whoever points at nothing wants no focus.
  document.addEventListener("pointerdown", () => {
    if (document.activeElement === document.body) last = null;
  });

  new MutationObserver(() => {
    if (!last || (document.activeElement !== document.body && document.activeElement !== last)) return;
    if (last.isConnected) {
      if (last.matches(":disabled")) disabled = last;
      else if (disabled === last && document.activeElement === document.body) last.focus({ preventScroll: true });
      return;
    }
    // A dialog that was opened by another one, which is gone, has nothing to give the focus back to: the page takes it.
    if (!inPage || inPage.path !== location.pathname || document.querySelector("[aria-modal=true]")) return;
    const next = inPage.element.isConnected ? inPage.element : instead(inPage);
    next?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}

function placeOf(element: HTMLElement): Place {
  const around: Place["around"] = [];
  for (let inner: Element = element; inner.parentElement && inner.tagName !== "MAIN"; inner = inner.parentElement) {
    around.push({ element: inner.parentElement, index: [...inner.parentElement.children].indexOf(inner) });
  }
  return { element, around, path: location.pathname };
}

/** What stands where the element was. */
function instead({ around }: Place): HTMLElement | null {
  const there = around.find(({ element }) => element.isConnected);
  for (const next of there ? [there.element.children[there.index], there.element.children[there.index - 1]] : []) {
    const found = next?.matches(reachable) ? next : next?.querySelector(reachable);
    if (found instanceof HTMLElement) return found;
  }
  return document.querySelector<HTMLElement>("main h1");
}
