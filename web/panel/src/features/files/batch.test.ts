import { expect, test } from "vitest";

import { ApiFailure } from "~/api/failure";

import { Batch } from "./batch";

test("what is gone is not counted, and what is done is not done twice", async () => {
  const batch = new Batch(["a", "gone", "b"]);
  const seen: string[] = [];
  const work = async (one: string) => {
    seen.push(one);
    if (one === "gone") throw new ApiFailure(404, {});
  };
  await expect(batch.each(work, () => {})).rejects.toMatchObject({ status: 404 });
  expect(batch).toMatchObject({ count: 1, left: ["b"] });
  await batch.each(work, () => {});
  expect(seen).toEqual(["a", "gone", "b"]);
  expect(batch).toMatchObject({ count: 2, left: [] });
});

test("what has failed is tried again", async () => {
  const batch = new Batch(["a"]);
  await expect(
    batch.each(
      () => Promise.reject(new ApiFailure(503, {})),
      () => {},
    ),
  ).rejects.toThrow();
  expect(batch).toMatchObject({ count: 0, left: ["a"] });
});
