import { Tooltip } from "@mantine/core";

import classes from "./Bars.module.css";

interface Bar {
  key: string;
  value: number;
  /** The part of it that is bad. */
  bad?: number;
  label: string;
}

/** A chart of bars, one a day. Screen readers get its labels as a list. */
export function Bars({ bars, title }: { bars: Bar[]; title: string }) {
  const most = Math.max(1, ...bars.map((bar) => bar.value));
  return (
    <ul className={classes.chart} aria-label={title}>
      {bars.map(({ key, value, bad = 0, label }) => (
        <Tooltip key={key} label={label} events={{ hover: true, focus: false, touch: true }}>
          <li className={classes.day}>
            <span className="visually-hidden">{label}</span>
            <span className={classes.bad} style={{ height: `${(bad / most) * 100}%` }} />
            <span className={classes.bar} style={{ height: `${((value - bad) / most) * 100}%` }} />
          </li>
        </Tooltip>
      ))}
    </ul>
  );
}
