import type { Change } from "~/api/live";
import { boot } from "~/app/boot";

/** Whose events are told here: each account of a browser has its own. */
export const whose = `${boot.base}/${boot.account?.id ?? boot.client?.service ?? 0}`;
const cursorKey = `stead.live.cursor${whose}`;
const toldKey = `stead.live.told${whose}`;

/** Who was away for longer begins anew: their pages are read anew too. */
const away = 3_600_000;
/** What ended longer ago is no news; the list of notifications has it. */
const news = 600_000;
/** How many notices are remembered. */
const most = 50;

function read<T>(key: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") as T | null;
  } catch {
    return null; // no storage, or not ours
  }
}

function write(key: string, value: unknown) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Without storage a reload begins anew.
  }
}

interface Place {
  cursor: string;
  at: number;
}

function place(): Place | null {
  const last = read<Place>(cursorKey);
  return last && Date.now() - last.at < away ? last : null;
}

/** What happened before is no news. A browser that goes on where it was is told what it has missed. */
let since = place() ? 0 : Date.now();

/** From where to go on with the events; empty to begin now. */
export const lastCursor = () => place()?.cursor ?? "";

/** Keeps how far the events were heard. */
export const remember = (cursor: string) => write(cursorKey, { cursor, at: Date.now() } satisfies Place);

/** What has happened until now is no news. */
export const forget = () => {
  since = Date.now();
};

/** Whether a change is news that no tab of this browser has told. The caller tells it. */
export function claim({ id, at }: Change): boolean {
  const when = Date.parse(at);
  const told = read<string[]>(toldKey) ?? [];
  if (when < Date.now() - news || when < since || told.includes(id)) return false;
  write(toldKey, [...told, id].slice(-most));
  return true;
}
