import { Button, Checkbox, Group, List, NativeSelect, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";

import { deleteRecord, importZone, type DnsRecord } from "./api";
import { Difference, line } from "./Difference";
import classes from "./RecordForm.module.css";
import { inTheWay, templates, zoneFile } from "./templates";
import { t } from "./texts";

/** The records of a mail provider: what is added, and what of another provider is removed. */
export function TemplateForm({
  service,
  zone,
  records,
  onDone,
}: {
  service: number;
  zone: string;
  records: DnsRecord[];
  onDone: (count: number) => Promise<void>;
}) {
  const [id, setId] = useState(templates[0]?.id);
  const [replace, setReplace] = useState(true);
  const template = templates.find((one) => one.id === id);
  const bind = template ? zoneFile(template, zone) : "";
  const others = template ? inTheWay(template, zone, records) : [];
  const preview = useQuery({
    queryKey: ["service", service, "dns", "template", zone, id],
    queryFn: () => importZone(service, zone, bind, true),
    enabled: bind !== "",
    staleTime: 0,
  });
  const [apply, { busy, error }] = useAction(async () => {
    const result = await importZone(service, zone, bind, false);
    if (replace) for (const record of others) await deleteRecord(service, record.id);
    await onDone(result.added.length);
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void apply();
      }}
    >
      <Stack>
        <NativeSelect
          label={t("template.provider")}
          value={id}
          data={templates.map(({ id: value, name: label }) => ({ value, label }))}
          onChange={(event) => setId(templates.find((one) => one.id === event.currentTarget.value)?.id)}
          data-autofocus
        />
        <Text size="sm" c="dimmed">
          {t("template.text")}
        </Text>
        <Load query={preview}>{(data) => <Difference of={data} />}</Load>
        {others.length > 0 && (
          <div>
            <Checkbox
              label={t("template.replace", { count: others.length })}
              checked={replace}
              onChange={(event) => setReplace(event.currentTarget.checked)}
            />
            <List size="sm" className={classes.whole} mt="xs">
              {others.map((record) => (
                <List.Item key={record.id}>{line(record)}</List.Item>
              ))}
            </List>
          </div>
        )}
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={!preview.data || preview.data.conflicts.length > 0}>
            {t("template.apply")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
