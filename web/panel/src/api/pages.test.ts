import { expect, test } from "vitest";

import { allPages } from "./pages";

/** A list of the interface; `asked` are the pages that were read. */
function listOf(total: number) {
  const asked: number[] = [];
  const items = Array.from({ length: total }, (_, n) => n);
  const read = async ({ page, per_page }: { page: number; per_page: number }) => {
    asked.push(page);
    const meta = { page, per_page, total, last_page: Math.max(1, Math.ceil(total / per_page)) };
    return { data: items.slice((page - 1) * per_page, page * per_page), meta };
  };
  return { asked, items, read };
}

test.each([0, 1, 50, 51, 333])("a list of %d items is read whole, in its order", async (total) => {
  const { asked, items, read } = listOf(total);
  const { data, meta } = await allPages(read);
  expect(data).toEqual(items);
  expect(meta.total).toBe(total);
  expect(asked.length).toBe(meta.last_page);
});

test("no more is read than is wanted", async () => {
  const { asked, items, read } = listOf(10_000);
  const { data } = await allPages(read, 120);
  expect(data).toEqual(items.slice(0, 150));
  expect(asked).toEqual([1, 2, 3]);
});
