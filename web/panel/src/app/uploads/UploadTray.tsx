import { ActionIcon, Button, Group, Paper, Progress, ScrollArea, Stack, Text, Title, Tooltip } from "@mantine/core";
import {
  IconChevronDown,
  IconChevronUp,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconReplace,
  IconX,
  type Icon,
} from "@tabler/icons-react";
import { useEffect, useState, useSyncExternalStore } from "react";

import { ApiFailure } from "~/api/failure";
import { bytes, percent } from "~/i18n/formats";

import type { Upload } from "./queue";
import { t } from "./texts";
import classes from "./UploadTray.module.css";
import { uploads } from "./uploads";

/** What is being uploaded, over the corner of every page. */
export function UploadTray() {
  const progress = useSyncExternalStore(uploads.subscribe, uploads.progress);
  const [opened, setOpened] = useState(false);
  const { busy, existing, failed, files, done, paused, sent, total } = progress;
  const over = !busy && paused === 0;
  // All is well: the tray leaves by itself.
  useEffect(() => {
    if (!over || failed > 0 || files === 0) return;
    const timer = setTimeout(() => uploads.clear(), 6000);
    return () => clearTimeout(timer);
  }, [over, failed, files]);
  if (files + failed === 0) return null;
  const share = total > 0 ? sent / total : files > 0 ? done / files : 1;
  const state = over
    ? failed > 0
      ? t("failed", { count: failed })
      : t("done", { count: done })
    : busy
      ? t("busy", { done, count: files })
      : t("paused", { count: paused });
  return (
    <Paper component="section" aria-label={t("title")} className={classes.tray} withBorder shadow="md" p="sm">
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Title order={2} size="h6" role="status">
          {state}
        </Title>
        <Group gap={2} wrap="nowrap">
          {busy && <Tool icon={IconPlayerPause} label={t("pause_all")} onClick={() => uploads.pause()} />}
          {paused > 0 && <Tool icon={IconPlayerPlay} label={t("resume_all")} onClick={() => uploads.resume()} />}
          {failed > existing && <Tool icon={IconRefresh} label={t("retry_all")} onClick={() => uploads.retry()} />}
          <Tool
            icon={opened ? IconChevronDown : IconChevronUp}
            label={t(opened ? "hide" : "show")}
            expanded={opened}
            onClick={() => setOpened(!opened)}
          />
          {over && <Tool icon={IconX} label={t("close")} onClick={() => uploads.clear()} />}
        </Group>
      </Group>
      {over && failed > 0 && done > 0 && <Text size="sm">{t("done", { count: done })}</Text>}
      {existing > 0 && (
        <Group justify="space-between" wrap="nowrap" gap="xs">
          <Text size="sm">{t("existing", { count: existing })}</Text>
          <Button size="compact-sm" variant="default" flex="none" onClick={() => uploads.replace()}>
            {t("replace_all")}
          </Button>
        </Group>
      )}
      <Progress
        value={share * 100}
        color={over && failed > 0 ? "red" : "brand"}
        mt="xs"
        aria-label={t("title")}
        transitionDuration={150}
      />
      <Group justify="space-between" mt={4}>
        <Text size="xs" c="dimmed">
          {t("sent", { sent: bytes(sent), total: bytes(total) })}
        </Text>
        <Text size="xs" c="dimmed">
          {percent(share)}
        </Text>
      </Group>
      {opened && (
        <>
          <ScrollArea.Autosize mah={260} mt="xs" type="auto" viewportProps={{ tabIndex: 0 }}>
            <Stack component="ul" gap="xs" className={classes.list}>
              {progress.shown.map((upload) => (
                <Row key={upload.id} upload={upload} />
              ))}
            </Stack>
          </ScrollArea.Autosize>
          {!over && (
            <Button fullWidth mt="xs" size="xs" variant="default" onClick={() => uploads.cancel()}>
              {t("cancel_all")}
            </Button>
          )}
        </>
      )}
    </Paper>
  );
}

function Tool({
  icon: Shape,
  label,
  onClick,
  expanded,
}: {
  icon: Icon;
  label: string;
  onClick: () => void;
  expanded?: boolean;
}) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" onClick={onClick} aria-label={label} aria-expanded={expanded}>
        <Shape size={18} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}

function Row({ upload }: { upload: Upload }) {
  const { id, name, state, size, sent, error, directory } = upload;
  const only = (other: Upload) => other.id === id;
  const there = error instanceof ApiFailure && error.key === "already_exists";
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" truncate title={`${directory}/${name}`}>
          {name}
        </Text>
        <Group gap={0} wrap="nowrap">
          {state !== "failed" && (
            <Text size="xs" c="dimmed" className={classes.state}>
              {state === "sending" && size > 0 ? percent(sent / size) : t(`state.${state}`)}
            </Text>
          )}
          {(state === "sending" || state === "waiting") && (
            <Tool icon={IconPlayerPause} label={t("pause", { name })} onClick={() => uploads.pause(only)} />
          )}
          {state === "paused" && (
            <Tool icon={IconPlayerPlay} label={t("resume", { name })} onClick={() => uploads.resume(only)} />
          )}
          {state === "failed" && there && (
            <Tool icon={IconReplace} label={t("replace", { name })} onClick={() => uploads.replace(only)} />
          )}
          {state === "failed" && !there && (
            <Tool icon={IconRefresh} label={t("retry", { name })} onClick={() => uploads.retry(only)} />
          )}
          {state !== "done" && <Tool icon={IconX} label={t("cancel", { name })} onClick={() => uploads.cancel(only)} />}
        </Group>
      </Group>
      {state === "sending" && size > 1 << 20 && (
        <Progress value={(sent / size) * 100} size="xs" aria-label={name} transitionDuration={150} />
      )}
      {state === "failed" && (
        <Text size="xs" className={classes.error}>
          {(error instanceof ApiFailure && error.message) || t("error")}
        </Text>
      )}
    </li>
  );
}
