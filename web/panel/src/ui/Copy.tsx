import { ActionIcon, Code, CopyButton, Group, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

import { t } from "./texts";

/** A value that people copy, whole, with its button. */
export function Copy({ value, label }: { value: string; label?: string }) {
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex" align="center" maw="100%">
      <Code style={{ overflowWrap: "anywhere" }}>{value}</Code>
      <CopyButton value={value} timeout={2000}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? t("copied") : t("copy")}>
            <ActionIcon
              variant="subtle"
              color={copied ? "brand" : "gray"}
              onClick={copy}
              aria-label={copied ? t("copied") : t("copy_what", { what: label ?? value })}
            >
              {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  );
}
