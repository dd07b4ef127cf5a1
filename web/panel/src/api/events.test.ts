import { expect, test, vi } from "vitest";

vi.mock("./client", () => ({ addressOf: () => "", send: () => Promise.reject(new Error()) }));

const { eventParser } = await import("./events");

test("events come out of a text in pieces, whatever its ends of lines", () => {
  const parse = eventParser();
  expect(parse(": here\n\nid: 1\nevent: run.sta")).toEqual([]);
  expect(parse('rted\ndata: {"a":1}\n\nid: 2\r\ndata: two\r\ndata: lines\r\n\r\n')).toEqual([
    { id: "1", type: "run.started", data: '{"a":1}' },
    { id: "2", type: "message", data: "two\nlines" },
  ]);
  expect(parse("event: empty\n\ndata:x\n\n")).toEqual([{ id: "2", type: "message", data: "x" }]);
});
