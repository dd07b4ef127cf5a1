import { expect, test } from "vitest";

import { conflicts, picked, walk, type DroppedEntry } from "./dropped";
import { crumbs, freeName, fromSplat, join, nameProblem, parent, sorted } from "./paths";
import { plan } from "./plan";

const file = (name: string): DroppedEntry => ({
  name,
  isFile: true,
  isDirectory: false,
  file: (found) => found({ name } as File),
});

/** A directory whose reader answers two entries at a time, as browsers answer a hundred. */
const directory = (name: string, children: DroppedEntry[]): DroppedEntry => ({
  name,
  isFile: false,
  isDirectory: true,
  createReader: () => {
    const left = [...children];
    return { readEntries: (found) => found(left.splice(0, 2)) };
  },
});

test("a dropped tree is read to the end, with its empty folders", async () => {
  const tree = [
    directory("site", [
      file("1"),
      file("2"),
      file("3"),
      directory("empty", []),
      directory("img", [file("4"), file("5")]),
    ]),
    file("robots.txt"),
  ];
  const dropped = await walk(tree);
  expect(dropped.files.map(({ path }) => path)).toEqual([
    "site/1",
    "site/2",
    "site/3",
    "site/img/4",
    "site/img/5",
    "robots.txt",
  ]);
  expect(dropped.empty).toEqual(["site/empty"]);
});

test("a picked folder keeps its paths", () => {
  const { files } = picked([{ name: "a.css", webkitRelativePath: "site/css/a.css" } as File, { name: "b" } as File]);
  expect(files.map(({ path }) => path)).toEqual(["site/css/a.css", "b"]);
});

test("conflicts are found at every depth, and only directories on both sides are read", async () => {
  const there: Record<string, { name: string; type: string }[]> = {
    "": [
      { name: "site", type: "directory" },
      { name: "index.html", type: "file" },
      { name: "img", type: "file" },
    ],
    site: [
      { name: "a.css", type: "file" },
      { name: "new.js", type: "directory" },
    ],
  };
  const read: string[] = [];
  const paths = ["index.html", "site/a.css", "site/new.js", "site/deep/b.css", "img/logo.png"];
  const found = await conflicts(
    { files: paths.map((path) => ({ path, file: {} as File })), empty: ["fresh"] },
    async (path) => {
      read.push(path);
      return there[path] ?? [];
    },
  );
  expect(found.files.sort()).toEqual(["index.html", "site/a.css"]);
  expect(found.clashes.sort()).toEqual(["img", "site/new.js"]);
  expect(read).toEqual(["", "site"]);
});

test("files that are kept beside those that are there get names of their own", () => {
  const dropped = ["a.txt", "a (2).txt", "b.txt", "b (2).txt", "site/c.txt"].map((path) => ({
    path,
    file: {} as File,
  }));
  const found = {
    files: ["a.txt", "b.txt", "b (2).txt", "site/c.txt"],
    clashes: [],
    taken: new Map([
      ["", new Set(["a.txt", "b.txt", "b (2).txt", "site"])],
      ["site", new Set(["c.txt"])],
    ]),
  };
  const sent = plan(1, "/", { files: dropped, empty: [] }, found, "both");
  expect(sent.map(({ directory, name }) => join(directory, name))).toEqual([
    "/a (3).txt",
    "/a (2).txt",
    "/b (3).txt",
    "/b (2) (2).txt",
    "/site/c (2).txt",
  ]);
  expect(sent.some(({ overwrite }) => overwrite)).toBe(false);
});

test.each([
  ["photo.jpg", "photo (3).jpg"],
  ["site.tar.gz", "site (2).tar.gz"],
  [".htaccess", ".htaccess (2)"],
  ["new", "new"],
])("a free name for %s is %s", (name, free) => {
  const taken = new Set(["photo.jpg", "photo (2).jpg", "site.tar.gz", ".htaccess"]);
  expect(freeName(name, (other) => taken.has(other))).toBe(free);
});

test.each([
  ["index.html", null],
  ["", "name.empty"],
  ["a/b", "name.slash"],
  ["..", "name.dots"],
  ["я".repeat(128), "name.long"],
])("the name %j of a file", (name, problem) => {
  expect(nameProblem(name)).toBe(problem);
});

test("paths", () => {
  expect(fromSplat(undefined)).toBe("/");
  expect(fromSplat("public_html/img/")).toBe("/public_html/img");
  expect(join("/", "a")).toBe("/a");
  expect(join("/a", "b")).toBe("/a/b");
  expect(parent("/a")).toBe("/");
  expect(parent("/a/b")).toBe("/a");
  expect(crumbs("/a/b")).toEqual([
    { name: "a", path: "/a" },
    { name: "b", path: "/a/b" },
  ]);
});

test("directories stand before files in every order", () => {
  const entry = (name: string, type: string, size_bytes: number | null) => ({
    name,
    type,
    size_bytes,
    modified_at: name,
  });
  const entries = [entry("b10", "file", 1), entry("b9", "file", 2), entry("z", "directory", null)];
  expect(sorted(entries, "name", false).map(({ name }) => name)).toEqual(["z", "b9", "b10"]);
  expect(sorted(entries, "size", true).map(({ name }) => name)).toEqual(["z", "b9", "b10"]);
  expect(sorted(entries, "size", false).map(({ name }) => name)).toEqual(["z", "b10", "b9"]);
});
