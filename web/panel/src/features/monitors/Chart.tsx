import { Text } from "@mantine/core";

import { moment, number } from "~/i18n/formats";

import type { MonitorStory } from "./api";
import { draw, samples } from "./chart";
import classes from "./Chart.module.css";
import { t } from "./texts";

/** Response times over a range, as a line in the band between the fastest and the slowest; outages stand below it in red. */
export function Chart({ story }: { story: MonitorStory }) {
  const list = samples(story);
  const measured = list.flatMap((one) => (one.mean === null ? [] : [one.mean]));
  if (measured.length === 0) return <Text c="dimmed">{t("chart.none")}</Text>;
  const { line, band, outages, most } = draw(list);
  const mean = measured.reduce((sum, one) => sum + one, 0) / measured.length;
  const slowest = Math.max(...list.map((one) => one.most ?? 0));
  const first = list[0];
  const last = list.at(-1);
  const ms = (value: number) => t("ms", { ms: number(Math.round(value)) });
  return (
    <div className={classes.box}>
      <div className={classes.scale} aria-hidden>
        <span>{ms(most)}</span>
        <span>{ms(most / 2)}</span>
        <span>{ms(0)}</span>
      </div>
      <svg
        className={classes.plot}
        role="img"
        aria-label={t("chart.summary", { mean: ms(mean), slowest: ms(slowest) })}
        viewBox="0 0 1000 200"
        preserveAspectRatio="none"
      >
        <line className={classes.half} x1={0} x2={1000} y1={100} y2={100} />
        <path className={classes.band} d={band} />
        {outages.map(({ x, width, part }) => (
          <rect key={x} className={classes.down} x={x} width={width} y={190} height={10} opacity={0.4 + 0.6 * part} />
        ))}
        <path className={classes.line} d={line} />
      </svg>
      <div className={classes.times} aria-hidden>
        <span>{first && moment(new Date(first.at))}</span>
        <span>{last && moment(new Date(last.at + last.length))}</span>
      </div>
    </div>
  );
}
