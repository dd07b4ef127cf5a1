/**
 * The key under which a wish takes effect once, however often it is sent. It stays the same until the wish changes: whoever
 * repeats a call whose answer was lost gets that answer, and pays nothing twice.
 */
export function intentKeys(make: () => string) {
  let last = { of: "", key: "" };
  return (wish: unknown) => {
    const of = JSON.stringify(wish);
    if (last.of !== of) last = { of, key: make() };
    return last.key;
  };
}
