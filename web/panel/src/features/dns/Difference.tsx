import { List, Stack, Text, Title } from "@mantine/core";

import type { DnsImport } from "./api";
import classes from "./RecordForm.module.css";
import { t } from "./texts";

type Wish = Pick<DnsImport["added"][number], "name" | "type" | "value" | "priority">;

export const line = ({ name, type, value, priority }: Wish) =>
  [name, type, priority, value].filter((part) => part !== null && part !== undefined).join(" ");

/** What an import would do: what it adds, what it leaves out and why, and what stands in its way. */
export function Difference({ of }: { of: DnsImport }) {
  return (
    <Stack gap="sm" aria-live="polite">
      {of.conflicts.length > 0 && (
        <Part title={t("import.conflicts", { count: of.conflicts.length })}>
          {of.conflicts.map((record, i) => (
            <List.Item key={i}>
              {line(record)}
              <Text size="sm" c="var(--status-bad)">
                {record.message}
              </Text>
            </List.Item>
          ))}
        </Part>
      )}
      <Part title={t("import.added", { count: of.added.length })}>
        {of.added.map((record, i) => (
          <List.Item key={i}>{line(record)}</List.Item>
        ))}
      </Part>
      {of.skipped.length > 0 && (
        <Part title={t("import.skipped", { count: of.skipped.length })}>
          {of.skipped.map((record, i) => (
            <List.Item key={i}>
              {line(record)}
              <Text size="sm" c="dimmed">
                {t(`skipped.${record.reason}`)}
              </Text>
            </List.Item>
          ))}
        </Part>
      )}
    </Stack>
  );
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div>
      <Title order={3} size="h5">
        {title}
      </Title>
      <List size="sm" className={classes.whole}>
        {children}
      </List>
    </div>
  );
}
