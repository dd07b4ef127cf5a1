import type { NewUpload } from "~/app/uploads/queue";

import type { Conflicts, Dropped } from "./dropped";
import { baseName, freeName, join, parent } from "./paths";

export type Answer = "replace" | "both" | "skip";

/**
 * What goes into the queue, after the person has decided about the files that were found. The interface refuses to replace
 * any other, such as one beyond the entries that are read of a large directory.
 */
export function plan(
  service: number,
  directory: string,
  dropped: Dropped,
  found: Conflicts,
  answer: Answer,
): NewUpload[] {
  const there = new Set(found.files);
  const impossible = (path: string) => found.clashes.some((clash) => path === clash || path.startsWith(clash + "/"));
  const place = (path: string) => join(directory, path);
  const within = (path: string) => (path.includes("/") ? parent(path) : "");
  const result: NewUpload[] = [];
  for (const path of dropped.empty) {
    if (impossible(path)) continue;
    result.push({
      service,
      directory: parent(place(path)),
      name: baseName(path),
      overwrite: false,
      file: null,
    });
  }
  // A new name must be free of what is there, of what else was dropped, and of the new names before it.
  const taken = new Map([...found.taken].map(([path, names]) => [path, new Set(names)]));
  for (const { path } of dropped.files) taken.get(within(path))?.add(baseName(path));
  for (const { path, file } of dropped.files) {
    const exists = there.has(path);
    if (impossible(path) || (exists && answer === "skip")) continue;
    let name = baseName(path);
    if (exists && answer === "both") {
      const names = taken.get(within(path));
      name = freeName(name, (other) => !!names?.has(other));
      names?.add(name);
    }
    result.push({
      service,
      directory: parent(place(path)),
      name,
      overwrite: exists && answer === "replace",
      file,
    });
  }
  return result;
}
