import { Button, FileButton, Group, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";

import { importZone, type DnsImport } from "./api";
import { Difference } from "./Difference";
import { t } from "./texts";

/** The import of a zone file: first what it would do, then doing it. */
export function ImportForm({
  service,
  zone,
  onDone,
}: {
  service: number;
  zone?: string;
  onDone: (count: number) => Promise<void>;
}) {
  const [file, setFile] = useState("");
  const [preview, setPreview] = useState<DnsImport | null>(null);
  const [run, { busy, error }] = useAction(async (validateOnly: boolean) => {
    const result = await importZone(service, zone, file, validateOnly);
    if (validateOnly) setPreview(result);
    else await onDone(result.added.length);
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(!preview);
      }}
    >
      <Stack>
        <Text size="sm">{t("import.text")}</Text>
        <Group>
          <FileButton
            onChange={(chosen) => {
              setPreview(null);
              void chosen?.text().then(setFile);
            }}
            accept=".zone,.txt,.db,text/plain,text/dns"
          >
            {(props) => (
              <Button variant="default" {...props}>
                {t("import.file")}
              </Button>
            )}
          </FileButton>
        </Group>
        <Textarea
          label={t("import.zone")}
          value={file}
          onChange={(event) => {
            setFile(event.currentTarget.value);
            setPreview(null);
          }}
          autosize
          minRows={4}
          maxRows={12}
          ff="monospace"
          spellCheck={false}
        />
        {preview && <Difference of={preview} />}
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button
            type="submit"
            loading={busy}
            disabled={
              !file.trim() || (preview !== null && (preview.conflicts.length > 0 || preview.added.length === 0))
            }
          >
            {preview ? t("import.apply", { count: preview.added.length }) : t("import.preview")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
