import { expect, test } from "vitest";

import type { Query } from "./domains";
import { domainsInNeed } from "./domains";

/** A list of so many domains; those that end are the oldest. */
function world(all: number, active: number) {
  const asked: Query[] = [];
  const read = async (query: Query) => {
    asked.push(query);
    const total = query.status === undefined ? all : query.status === "active" ? active : 0;
    const first = ((query.page ?? 1) - 1) * 50;
    const data = Array.from({ length: Math.max(0, Math.min(50, total - first)) }, (_, n) => ({
      id: query.status ? first + n + 1 : all - first - n,
    }));
    return { data, meta: { last_page: Math.max(1, Math.ceil(total / 50)) } } as never;
  };
  return { asked, read };
}

const soon = new Date("2026-11-29T00:00:00Z");

test("few domains are read with one request", async () => {
  const { asked, read } = world(50, 3);
  expect((await domainsInNeed(soon, read)).data).toHaveLength(50);
  expect(asked).toEqual([{ per_page: 50 }]);
});

test("of many domains the newest are read, and those that end soon", async () => {
  const { asked, read } = world(3000, 60);
  const { data } = await domainsInNeed(soon, read);
  expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining([3000, 2951, 1, 60]));
  expect(data).toHaveLength(110);
  expect(asked).toHaveLength(6);
  expect(asked[1]).toMatchObject({ status: "active", expires_before: soon.toISOString() });
});

test("not even of those that end all are read", async () => {
  const { asked, read } = world(3000, 3000);
  await domainsInNeed(soon, read);
  expect(asked).toHaveLength(8);
});
