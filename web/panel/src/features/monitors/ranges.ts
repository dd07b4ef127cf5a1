import type { MonitorStory } from "./api";

export type Range = MonitorStory["history"]["range"];

export const ranges = ["24h", "7d", "30d", "90d"] as const satisfies readonly Range[];
