import { Code, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

import classes from "./Agent.module.css";
import { t } from "./texts";
import { diffLines } from "./validate";

/** A change of one file: what it does, and the lines that differ. The text is somebody else's, so it is shown as it is. */
export function Diff({
  action,
  path,
  to,
  diff,
  children,
}: {
  action: string;
  path: string;
  to?: string | null;
  diff: string;
  children?: ReactNode;
}) {
  return (
    <details className={classes.change} open={diff.length < 4000}>
      <summary>
        <Group gap="xs" display="inline-flex">
          <Text span size="sm" fw={600}>
            {t(`action.${action as "edit"}`)}
          </Text>
          <Code>{path}</Code>
          {to && <Code>→ {to}</Code>}
          {children}
        </Group>
      </summary>
      {diff && (
        <pre className={classes.diff}>
          {diffLines(diff).map(({ kind, text }, index) => (
            <span key={index} className={classes[kind]}>
              {text + "\n"}
            </span>
          ))}
        </pre>
      )}
    </details>
  );
}
