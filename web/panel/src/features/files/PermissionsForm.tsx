import { Checkbox, Stack, Table, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import type { Entry } from "./api";
import classes from "./Files.module.css";
import {
  allowed,
  always,
  bit,
  classes as people,
  fileMode,
  folderMode,
  modeProblem,
  never,
  octal,
  parseMode,
  rights,
} from "./modes";
import { isProtected } from "./paths";
import { t } from "./texts";

/** What is to be set: of files, or of folders when they alone are chosen and what is in them stays as it is. */
export function usePermissions(chosen: Entry[]) {
  const folders = chosen.filter((entry) => entry.type === "directory");
  const kept = folders.some((entry) => isProtected(entry.path)); // only what is in it changes
  const [recursive, setRecursive] = useState(kept);
  const ofFolders = folders.length === chosen.length && !recursive;
  const [text, setText] = useState(() => {
    const first = chosen.find((entry) => entry.type === "file") ?? chosen[0];
    const mode = parseMode(first?.mode ?? "") ?? 0o644;
    return octal(allowed(kept && first?.type === "directory" ? fileMode(mode) | 0o44 : mode, ofFolders));
  });
  const problem = modeProblem(text, ofFolders);
  const mode = parseMode(text);
  return {
    text,
    setText,
    mode,
    problem,
    ofFolders,
    recursive,
    kept,
    folders: folders.length > 0,
    setRecursive: (on: boolean) => {
      setRecursive(on);
      if (mode !== null && folders.length === chosen.length)
        setText(octal(allowed(on ? fileMode(mode) : folderMode(mode), !on)));
    },
  };
}

/** Permissions as boxes and in octal, which follow each other. */
export function PermissionsForm({ permissions }: { permissions: ReturnType<typeof usePermissions> }) {
  const { text, setText, mode, problem, ofFolders, recursive, kept, folders, setRecursive } = permissions;
  const fixed = always(ofFolders);
  return (
    <Stack gap="sm">
      <Table className={classes.modes} withRowBorders={false}>
        <caption className="visually-hidden">{t("permissions")}</caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Td />
            {rights.map((right) => (
              <Table.Th key={right} scope="col">
                {t(`right.${right}`)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {people.map((who) => (
            <Table.Tr key={who}>
              <Table.Th scope="row">{t(`who.${who}`)}</Table.Th>
              {rights.map((right) => {
                const its = bit(who, right);
                return (
                  <Table.Td key={right}>
                    <Checkbox
                      aria-label={`${t(`who.${who}`)}: ${t(`right.${right}`)}`}
                      checked={((mode ?? 0) & its) !== 0}
                      disabled={(its & (fixed | never)) !== 0}
                      onChange={() => setText(octal(allowed((mode ?? 0) ^ its, ofFolders)))}
                    />
                  </Table.Td>
                );
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <TextInput
        label={t("mode.octal")}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={problem && t(problem)}
        maxLength={4}
        inputMode="numeric"
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      {folders && (
        <Checkbox
          label={t("mode.recursive")}
          description={kept ? t("mode.kept") : undefined}
          checked={recursive}
          disabled={kept}
          onChange={(event) => setRecursive(event.currentTarget.checked)}
        />
      )}
      {folders && !ofFolders && mode !== null && !problem && (
        <Text size="sm" c="dimmed" role="status">
          {t("mode.folders", { files: octal(mode), folders: octal(folderMode(mode)) })}
        </Text>
      )}
    </Stack>
  );
}
