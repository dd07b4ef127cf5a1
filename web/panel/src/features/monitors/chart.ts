import type { MonitorStory } from "./api";

/** What the chart draws of a stretch of time. */
export interface Sample {
  at: number;
  /** How long it stands for, in milliseconds. */
  length: number;
  mean: number | null;
  least: number | null;
  most: number | null;
  /** The part of the stretch in which it was down, 0 to 1. */
  down: number;
}

/** The samples of a monitor's history; of a young one, which has no two of them, its last checks. */
export function samples(story: Pick<MonitorStory, "checks" | "history">): Sample[] {
  const { points, step_s } = story.history;
  if (points.length > 1)
    return points.map((point) => {
      const known = point.up_s + point.degraded_s + point.down_s;
      return {
        at: Date.parse(point.start),
        length: step_s * 1000,
        mean: point.response_ms,
        least: point.response_min_ms,
        most: point.response_max_ms,
        down: known > 0 ? point.down_s / known : 0,
      };
    });
  return story.checks
    .map((check) => ({
      at: Date.parse(check.checked_at),
      length: 0,
      mean: check.response_ms,
      least: check.response_ms,
      most: check.response_ms,
      down: check.status === "down" ? 1 : 0,
    }))
    .sort((a, b) => a.at - b.at);
}

/** The upper end of an axis: a round number that no value is above. */
export function ceiling(most: number): number {
  const step = 10 ** Math.floor(Math.log10(Math.max(most, 10)));
  return [1, 2, 5, 10].map((factor) => factor * step).find((round) => round >= most) ?? most;
}

interface Drawing {
  line: string;
  band: string;
  /** Stretches of outages, in parts of the width. */
  outages: { x: number; width: number; part: number }[];
  most: number;
}

/** Draws samples into a box of 1,000 by 200. What was not measured leaves a gap. */
export function draw(list: Sample[]): Drawing {
  const first = list[0]?.at ?? 0;
  const last = list.at(-1);
  const span = Math.max(1, (last ? last.at + last.length : 0) - first);
  const most = ceiling(Math.max(0, ...list.map((one) => one.most ?? 0)));
  const x = (one: Sample) => ((one.at + one.length / 2 - first) / span) * 1000;
  const y = (value: number) => 200 - (value / most) * 200;
  const place = (one: Sample, value: number) => `${x(one).toFixed(1)} ${y(value).toFixed(1)}`;
  const runs: Sample[][] = [];
  for (const one of list) {
    const before = runs.at(-1)?.at(-1);
    if (one.mean === null) continue;
    // A hole in the history, or a sample without an answer between, begins another line.
    const joined =
      before &&
      list.indexOf(one) - list.indexOf(before) === 1 &&
      (!one.length || one.at - before.at <= one.length * 1.5);
    if (joined) runs.at(-1)?.push(one);
    else runs.push([one]);
  }
  return {
    line: runs
      .map((run) => "M" + run.map((one) => place(one, one.mean ?? 0)).join("L") + (run.length > 1 ? "" : "h0.1"))
      .join(""),
    band: runs
      .filter((run) => run.length > 1)
      .map(
        (run) =>
          "M" +
          [
            ...run.map((one) => place(one, one.most ?? 0)),
            ...run.toReversed().map((one) => place(one, one.least ?? 0)),
          ].join("L") +
          "Z",
      )
      .join(""),
    outages: list
      .filter((one) => one.down > 0)
      .map((one) => {
        const width = one.length ? (one.length / span) * 1000 : 1000 / list.length;
        return { x: Math.min(1000 - width, Math.max(0, x(one) - width / 2)), width, part: one.down };
      }),
    most,
  };
}
