import { Button, CloseButton, FileButton, Group, Paper, Progress, Stack, Text } from "@mantine/core";
import { IconPaperclip } from "@tabler/icons-react";
import { useState, type DragEvent, type ReactNode } from "react";

import { bytes } from "~/i18n/formats";

import { filesProblem, mostBytes, mostFiles } from "./files";
import { t } from "./texts";

/** A part of a form on which files can be dropped and, with the focus in it, pasted. Its files stand below the fields. */
export function Attachments({
  files,
  onChange,
  share,
  children,
}: {
  files: File[];
  onChange: (files: File[]) => void;
  /** How much has been sent, from 0 to 1; null while nothing is. */
  share: number | null;
  children: ReactNode;
}) {
  const [over, setOver] = useState(false);
  const sending = share !== null;
  const problem = filesProblem(files);
  const add = (more: Iterable<File>) => {
    if (!sending) onChange([...files, ...more]);
  };
  const carries = (event: DragEvent) => event.dataTransfer.types.includes("Files");
  return (
    <Stack
      gap="sm"
      onDragOver={(event) => {
        if (!carries(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        if (!carries(event)) return;
        event.preventDefault();
        setOver(false);
        add(event.dataTransfer.files);
      }}
      onPaste={(event) => {
        if (event.clipboardData.files.length === 0) return;
        event.preventDefault();
        add(event.clipboardData.files);
      }}
    >
      {children}
      <Paper
        withBorder
        p="sm"
        style={{ borderStyle: "dashed", borderColor: over ? "var(--mantine-primary-color-filled)" : undefined }}
      >
        <Group gap="sm">
          <FileButton multiple onChange={add}>
            {(props) => (
              <Button
                {...props}
                variant="default"
                size="compact-sm"
                disabled={sending}
                leftSection={<IconPaperclip size={16} aria-hidden />}
              >
                {t("files.choose")}
              </Button>
            )}
          </FileButton>
          <Text size="sm" c="dimmed">
            {t("files.hint", { count: mostFiles, size: bytes(mostBytes) })}
          </Text>
        </Group>
        {files.length > 0 && (
          <Stack component="ul" gap={4} p={0} m={0} mt="sm" style={{ listStyle: "none" }} aria-label={t("files")}>
            {files.map((file, at) => (
              <Group component="li" key={at} gap="xs" wrap="nowrap" justify="space-between">
                <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                  {file.name} ({bytes(file.size)})
                </Text>
                <CloseButton
                  aria-label={t("files.remove", { name: file.name })}
                  disabled={sending}
                  onClick={() => onChange(files.filter((_, other) => other !== at))}
                />
              </Group>
            ))}
          </Stack>
        )}
        {sending && files.length > 0 && (
          <Progress value={share * 100} mt="sm" aria-label={t("files.sending")} animated={share === 1} />
        )}
      </Paper>
      {problem && (
        <Text size="sm" c="var(--status-bad)" role="alert">
          {t(problem, { count: mostFiles, size: bytes(mostBytes) })}
        </Text>
      )}
    </Stack>
  );
}
