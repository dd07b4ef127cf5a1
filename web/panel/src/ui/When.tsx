import { Tooltip } from "@mantine/core";

import { day, moment, relative, utc } from "~/i18n/formats";

/** A time in the reader's zone; its UTC form on hover. */
export function When({ time, form = "moment" }: { time: string; form?: "moment" | "day" | "relative" }) {
  const text = form === "day" ? day(time) : form === "relative" ? relative(time) : moment(time);
  return (
    <Tooltip label={utc(time)} events={{ hover: true, focus: false, touch: true }}>
      <time dateTime={time}>{text}</time>
    </Tooltip>
  );
}
