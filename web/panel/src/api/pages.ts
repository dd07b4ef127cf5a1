const perPage = 50; // the most that the interface answers
const parallel = 4;

interface Page {
  data: unknown[];
  meta: { last_page: number };
}

/**
 * Reads a list whole, for pages that show no pager: the interface answers at most 50 items at a time. `most` bounds the items,
 * rounded up to whole pages. The answer is that of the first page, with the items of all.
 */
export async function allPages<P extends Page>(
  read: (page: { page: number; per_page: number }) => Promise<P>,
  most = Infinity,
): Promise<P> {
  const first = await read({ page: 1, per_page: perPage });
  const data = [...first.data];
  const last = Math.min(first.meta.last_page, Math.ceil(most / perPage));
  for (let at = 2; at <= last; at += parallel) {
    const numbers = Array.from({ length: Math.min(parallel, last - at + 1) }, (_, n) => at + n);
    const pages = await Promise.all(numbers.map((page) => read({ page, per_page: perPage })));
    for (const page of pages) data.push(...page.data);
  }
  return { ...first, data };
}
