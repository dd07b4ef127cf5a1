import { Button, Group, SegmentedControl, Text, TextInput } from "@mantine/core";
import { IconFileText, IconPlayerPause, IconPlayerPlay, IconSearch } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";

import { moment } from "~/i18n/formats";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { PageSkeleton } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Status } from "~/ui/Status";

import { sources, type Line, type Source } from "./api";
import classes from "./Logs.module.css";
import { t } from "./texts";
import { useLog } from "./useLog";

export interface View {
  type?: Source;
  q?: string;
}

/** A log of the service, live. */
export function Logs({ service, view, onView }: { service: number; view: View; onView: (view: View) => void }) {
  const { type = "access", q = "" } = view;
  const [attempt, setAttempt] = useState(0);
  const { lines, state, error } = useLog(service, type, q, attempt);
  const [paused, setPaused] = useState<Line[] | null>(null);
  const shown = paused ?? lines;
  const last = paused?.at(-1);
  const missed = paused ? lines.length - 1 - (last ? lines.lastIndexOf(last) : -1) : 0;
  return (
    <>
      <PageHeader
        title={t("title")}
        description={t("description")}
        aside={
          state === "live" || state === "lost" ? (
            <Status
              tone={paused ? "neutral" : state === "live" ? "good" : "warn"}
              label={t(paused ? "state.paused" : `state.${state}`)}
            />
          ) : undefined
        }
      />
      <Group mb="sm" gap="sm">
        <SegmentedControl
          className={classes.sources}
          value={type}
          onChange={(next) => {
            setPaused(null);
            onView({ ...view, type: next as Source });
          }}
          data={sources.map((value) => ({ value, label: t(`type.${value}`) }))}
        />
        <form
          role="search"
          key={q}
          className={classes.search}
          onSubmit={(event) => {
            event.preventDefault();
            setPaused(null);
            onView({ ...view, q: String(new FormData(event.currentTarget).get("q")).trim() || undefined });
          }}
        >
          <TextInput
            name="q"
            type="search"
            defaultValue={q}
            maxLength={200}
            aria-label={t("filter")}
            placeholder={t("filter")}
            leftSection={<IconSearch size={16} aria-hidden />}
          />
        </form>
        <Button
          variant="default"
          leftSection={paused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />}
          onClick={() => setPaused(paused ? null : lines)}
          disabled={state === "failed" || state === "loading"}
        >
          {paused ? t("resume", { count: Math.max(0, missed) }) : t("pause")}
        </Button>
      </Group>
      {state === "failed" ? (
        <ErrorNote error={error} retry={() => setAttempt(attempt + 1)} />
      ) : state === "loading" ? (
        <PageSkeleton />
      ) : shown.length === 0 ? (
        <Empty
          icon={IconFileText}
          title={t(q ? "none" : "empty.title", { q })}
          text={q ? undefined : t(`empty.${type}`)}
        />
      ) : (
        <Lines key={`${type} ${q}`} lines={shown} live={paused === null} />
      )}
    </>
  );
}

const bad = (line: Line) => line.level === "error" || line.level === "critical" || (line.status ?? 0) >= 500;
const odd = (line: Line) => line.level === "warning" || (line.status ?? 0) >= 400;

/** The lines, of which only those in sight are drawn. While it is live it stays at the end, unless the reader scrolls up. */
function Lines({ lines, live }: { lines: Line[]; live: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  // eslint-disable-next-line react-hooks/incompatible-library -- the React Compiler is not used
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => 28,
    overscan: 20,
    getItemKey: (index) => lines[index]?.cursor ?? index,
  });
  useEffect(() => {
    if (live && atEnd.current && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [lines, live, virtual]);
  return (
    <div
      ref={box}
      className={classes.box}
      role="table"
      aria-label={t("title")}
      aria-rowcount={lines.length}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      <div role="rowgroup" className={classes.lines} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          if (!line) return null;
          return (
            <div
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              role="row"
              aria-rowindex={item.index + 1}
              className={classes.line}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <time role="cell" dateTime={line.at} title={moment(line.at)} className={classes.time}>
                {clock(line.at)}
              </time>
              <span role="cell" className={bad(line) ? classes.bad : odd(line) ? classes.odd : classes.fine}>
                {line.status ?? t(`level.${line.level}`)}
              </span>
              <span role="cell" className={classes.message}>
                {line.source === "cron" && line.path ? `${line.path}: ${line.message}` : line.message}
              </span>
            </div>
          );
        })}
      </div>
      <Text span className="visually-hidden" role="status">
        {t("count", { count: lines.length })}
      </Text>
    </div>
  );
}

const clock = (time: string) => new Date(time).toLocaleTimeString(undefined, { hour12: false });
