import { Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done, refused } from "~/ui/notice";
import { cause } from "~/ui/outage/outage";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import {
  createEndpoint,
  deleteEndpoint,
  endpoints,
  rotateSecret,
  setEndpoint,
  testEndpoint,
  type Endpoint,
  type World,
} from "./api";
import { t } from "./texts";

function Secret({ value }: { value: string }) {
  return (
    <Alert title={t("secret")} color="orange" variant="light">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{t("secret.text")}</Text>
        <Copy value={value} label={t("secret")} />
      </Stack>
    </Alert>
  );
}

/** Adds an address that is told of events, and shows its secret once. */
export function AddEndpoint({ world }: { world: World }) {
  const queries = useQueryClient();
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState("");
  const [add, { busy, error }] = useAction(async () => {
    const made = await createEndpoint(world, url.trim());
    setSecret(made.secret);
    setUrl("");
    await queries.invalidateQueries({ queryKey: ["reseller", world] });
  });
  return (
    <Stack gap="sm">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (url.trim()) void add();
        }}
      >
        <Group align="flex-end">
          <TextInput
            label={t("endpoint.url")}
            placeholder="https://hooks.example.com/stead"
            type="url"
            value={url}
            spellCheck={false}
            onChange={(event) => setUrl(event.currentTarget.value)}
          />
          <Button type="submit" loading={busy}>
            {t("endpoint.add")}
          </Button>
        </Group>
      </form>
      <ErrorNote error={error} />
      {secret && <Secret value={secret} />}
    </Stack>
  );
}

const tones = { active: "good", paused: "neutral", disabled: "bad" } as const;

/** The addresses that are told, with what can be done to them. */
export function Endpoints({ world }: { world: World }) {
  const query = useQuery(endpoints(world));
  const queries = useQueryClient();
  const [secret, setSecret] = useState("");
  const fresh = () => queries.invalidateQueries({ queryKey: ["reseller", world] });
  const [act, { busy, error }] = useAction(async (what: () => Promise<unknown>) => {
    await what();
    await fresh();
  });
  const test = async (row: Endpoint) => {
    const answer = await testEndpoint(world, row.id);
    if (answer.status === "success") done(t("endpoint.arrived", { status: answer.http_status ?? "–" }));
    else
      refused(t("endpoint.failed", { why: answer.error_key ? cause(answer.error_key) : String(answer.http_status) }));
  };
  return (
    <Load query={query}>
      {({ data }) => (
        <Stack>
          <ErrorNote error={error} />
          {secret && <Secret value={secret} />}
          {data.length > 0 && (
            <DataTable
              caption={t("endpoints")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                {
                  key: "url",
                  label: t("endpoint.url"),
                  render: (row) => (
                    <Stack gap={2}>
                      <span>{row.url}</span>
                      <Text size="sm" c="dimmed">
                        {row.events.join(", ")}
                      </Text>
                    </Stack>
                  ),
                },
                {
                  key: "status",
                  label: t("column.status"),
                  render: (row) => <Status tone={tones[row.status]} label={t(`endpoint.${row.status}`)} />,
                },
                {
                  key: "last",
                  label: t("endpoint.last"),
                  render: (row) => (row.last_success_at ? <When time={row.last_success_at} form="relative" /> : "–"),
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) => (
                    <Group gap="xs" justify="flex-end">
                      <Button
                        size="compact-sm"
                        variant="light"
                        disabled={busy}
                        onClick={() => void act(() => test(row))}
                      >
                        {t("endpoint.test")}
                      </Button>
                      <Button
                        size="compact-sm"
                        variant="default"
                        disabled={busy}
                        onClick={() => void act(() => setEndpoint(world, row.id, !row.enabled))}
                      >
                        {t(row.enabled ? "endpoint.pause" : "endpoint.resume")}
                      </Button>
                      <Confirm
                        label={t("endpoint.rotate")}
                        title={t("endpoint.rotate")}
                        text={t("endpoint.rotate_text")}
                        color="orange"
                        size="compact-sm"
                        action={async () => {
                          setSecret((await rotateSecret(world, row.id)).secret);
                          await fresh();
                        }}
                      />
                      <Confirm
                        label={t("endpoint.delete")}
                        title={t("endpoint.delete")}
                        text={t("endpoint.delete_text", { url: row.url })}
                        size="compact-sm"
                        action={async () => {
                          await deleteEndpoint(world, row.id);
                          await fresh();
                        }}
                      />
                    </Group>
                  ),
                },
              ]}
            />
          )}
        </Stack>
      )}
    </Load>
  );
}
