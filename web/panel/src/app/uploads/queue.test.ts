import { expect, test } from "vitest";

import { ApiFailure } from "~/api/failure";

import { UploadQueue, type NewUpload, type Transport, type Upload } from "./queue";
import { isSameContent } from "./same";

const settle = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** A transport whose requests end when the test says so. */
function world(same = false) {
  const requests: {
    names: string[];
    uploads: Upload[];
    sent: (bytes: number) => void;
    end: (error?: unknown) => void;
    signal: AbortSignal;
  }[] = [];
  const compared: string[] = [];
  const waits: { milliseconds: number; end: () => void }[] = [];
  const open = (uploads: Upload[], sent: (bytes: number) => void, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      requests.push({
        names: uploads.map((upload) => upload.name),
        uploads: uploads.map((upload) => ({ ...upload })),
        sent,
        end: (error) => (error ? reject(error) : resolve()),
        signal,
      });
    });
  const transport: Transport = {
    send: open,
    makeFolder: (upload, signal) => open([upload], () => {}, signal),
    isSame: async (upload) => {
      compared.push(upload.name);
      return same;
    },
    changed: () => {},
    wait: (milliseconds) => new Promise((end) => waits.push({ milliseconds, end })),
  };
  return { queue: new UploadQueue(transport), requests, waits, compared };
}

const file = (name: string, size: number): NewUpload => ({
  service: 1,
  directory: "/public_html",
  name,
  overwrite: false,
  file: { size } as File,
});
const mega = 1 << 20;

test("large files are sent by themselves, four at a time, small ones together", () => {
  const { queue, requests } = world();
  queue.add([1, 2, 3, 4, 5].map((n) => file(`large${n}`, 2 * mega)));
  queue.add([file("a.css", 10), file("b.css", 10)]);
  expect(requests.map((request) => request.names)).toEqual([["large1"], ["large2"], ["large3"], ["large4"]]);
  expect(queue.progress()).toMatchObject({ files: 7, total: 10 * mega + 20, busy: true });
});

test("a queue that was given up is not busy any more, at once", () => {
  const { queue } = world();
  queue.add([file("a.css", 10)]);
  expect(queue.isBusy()).toBe(true);
  queue.cancel();
  expect(queue.isBusy()).toBe(false);
});

test("small files share a request of bounded size and number", () => {
  const { queue, requests } = world();
  queue.add(Array.from({ length: 150 }, (_, n) => file(`f${n}`, 100)));
  expect(requests.map((request) => request.names.length)).toEqual([100, 50]);
  const second = world();
  second.queue.add(Array.from({ length: 10 }, (_, n) => file(`f${n}`, mega)));
  expect(second.requests.map((request) => request.names.length)).toEqual([8, 2]);
});

test("when a request of many is refused, each file is sent alone and only the refused one fails", async () => {
  const { queue, requests } = world();
  queue.add([file("good", 1), file("bad", 1)]);
  requests[0]?.end(new ApiFailure(413, { error: "payload_too_large" }));
  await settle();
  expect(requests.slice(1).map((request) => request.names)).toEqual([["good"], ["bad"]]);
  requests[1]?.end();
  requests[2]?.end(new ApiFailure(422, { error: "path_not_allowed" }));
  await settle();
  queue.clear();
  expect(queue.progress().busy).toBe(false);
});

test("after a refusal what was stored is done, and nothing is replaced until a person says so", async () => {
  const { queue, requests, waits } = world();
  queue.add([file("new", 1), file("there", 1), file("last", 1)]);
  const exists = new ApiFailure(422, { error: "already_exists", stored: 1 });
  requests[0]?.end(exists);
  await settle();
  const resent = requests
    .slice(1)
    .flatMap((request) => request.uploads.map(({ name, overwrite }) => [name, overwrite]));
  expect(resent).toEqual([
    ["there", false],
    ["last", false],
  ]);
  requests[1]?.end(new ApiFailure(422, { error: "already_exists", stored: 0 }));
  requests[2]?.end();
  await settle();
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  expect(queue.progress()).toMatchObject({ done: 2, failed: 1, existing: 1 });
  queue.retry();
  expect(requests.length).toBe(3);
  queue.replace();
  expect(requests[3]?.uploads[0]).toMatchObject({ name: "there", overwrite: true });
});

const lost = new ApiFailure(0, {});
const exists = new ApiFailure(422, { error: "already_exists", stored: 0 });

test.each([
  ["is the upload's own", true, { done: 1, failed: 0, existing: 0 }],
  ["is another one", false, { done: 0, failed: 1, existing: 1 }],
])("nothing is replaced after a lost answer; the file that is there %s", async (_, same, expected) => {
  const { queue, requests, waits, compared } = world(same);
  queue.add([file("a", 3)]);
  requests[0]?.sent(3); // the socket has it, and the server perhaps
  requests[0]?.end(lost);
  await settle();
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  expect(requests[1]?.uploads[0]).toMatchObject({ name: "a", overwrite: false });
  requests[1]?.end(exists);
  await settle();
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  expect(compared).toEqual(["a"]);
  expect(queue.progress()).toMatchObject(expected);
});

test("what was paused replaces nothing, not even by an empty file", async () => {
  const { queue, requests, waits, compared } = world(true);
  queue.add([file("empty", 0), file("whole", 2), file("half", 4)]);
  requests[0]?.sent(3);
  queue.pause();
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  queue.resume();
  expect(requests[1]?.uploads.map(({ overwrite }) => overwrite)).toEqual([false, false, false]);
  requests[1]?.end(exists);
  await settle();
  expect(requests.slice(2).map(({ names }) => names)).toEqual([["empty"], ["whole"], ["half"]]);
  requests.slice(2).forEach(({ end }) => end(exists));
  await settle();
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  expect(compared).toEqual(["empty", "whole", "half"]);
  expect(queue.progress()).toMatchObject({ done: 3, failed: 0 });
});

test("a file that was there before the first request is not compared", async () => {
  const { queue, requests, compared } = world(true);
  queue.add([file("a", 3)]);
  requests[0]?.end(exists);
  await settle();
  expect(compared).toEqual([]);
});

const stream = (...pieces: string[]) =>
  new ReadableStream<Uint8Array>({
    start: (controller) => {
      pieces.forEach((piece) => controller.enqueue(new TextEncoder().encode(piece)));
      controller.close();
    },
  });

test.each([
  [["<h1>", "Shop</h1>"], true],
  [["<h1>", "Shoe</h1>"], false],
  [["<h1>"], false],
  [["<h1>", "Shop</h1>", "more"], false],
])("the content %j is compared with a file's", async (pieces, same) => {
  expect(await isSameContent(new Blob(["<h1>Shop</h1>"]), stream(...pieces))).toBe(same);
});

test("an empty file is the same as an empty stream", async () => {
  expect(await isSameContent(new Blob([]), stream())).toBe(true);
  expect(await isSameContent(new Blob([]), stream("theirs"))).toBe(false);
});

test("the network's failures are tried again after growing delays, and at last told", async () => {
  const { queue, requests, waits } = world();
  queue.add([file("a", 1)]);
  for (let n = 0; n < 5; n++) {
    requests[n]?.end(new ApiFailure(0, {}));
    await settle();
    waits.splice(0).forEach((wait) => wait.end());
    await settle();
  }
  expect(requests.length).toBe(5);
  expect(queue.progress()).toMatchObject({ failed: 1, busy: false });
  queue.retry();
  expect(requests.length).toBe(6);
});

test("a full disk fails what is waiting as well", async () => {
  const { queue, requests, waits } = world();
  queue.add([1, 2, 3, 4, 5, 6].map((n) => file(`large${n}`, 2 * mega)));
  requests[0]?.end(new ApiFailure(422, { error: "disk_full" }));
  await settle();
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  expect(requests.length).toBe(4);
  expect(queue.progress().failed).toBe(3);
});

test("pausing stops a request; resuming begins its files anew", async () => {
  const { queue, requests, waits } = world();
  queue.add([file("a", 2 * mega), file("b", 1)]);
  queue.pause();
  expect(requests.map((request) => request.signal.aborted)).toEqual([true, true]);
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  expect(queue.progress()).toMatchObject({ paused: 2, busy: false, sent: 0 });
  queue.resume();
  expect(requests.length).toBe(4);
});

test("a cancelled file leaves the total, and its companions go on", async () => {
  const { queue, requests, waits } = world();
  queue.add([file("a", 3), file("b", 4)]);
  queue.cancel((upload) => upload.name === "a");
  expect(requests.at(-1)?.names).toEqual(["b"]);
  waits.splice(0).forEach((wait) => wait.end());
  await settle();
  expect(queue.progress()).toMatchObject({ files: 1, total: 4 });
});
