import type { Tone } from "~/ui/Status";

import type { Announcement } from "./api";

export const tones: Record<Announcement["state"], Tone> = {
  draft: "neutral",
  scheduled: "busy",
  shown: "good",
  over: "neutral",
  withdrawn: "neutral",
};
