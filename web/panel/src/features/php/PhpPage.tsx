import { Alert, Button, Group, NativeSelect, SimpleGrid, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { day } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status, type Tone } from "~/ui/Status";

import { php, updatePhp, type Php } from "./api";
import { t } from "./texts";
import { isGood, valueOf } from "./validate";

const tones: Record<Php["status"], Tone> = { pending: "busy", active: "good", failed: "bad" };

export function PhpPage({ service }: { service: number }) {
  const query = useQuery(php(service));
  const queries = useQueryClient();
  return (
    <>
      <PageHeader
        title="PHP"
        description={t("description")}
        aside={query.data && <Status tone={tones[query.data.status]} label={t(`status.${query.data.status}`)} />}
      />
      <Load query={query}>
        {(data) => (
          <Stack>
            {data.conflicts.map((conflict) => (
              <Alert key={conflict.options.join()} color="orange" variant="light" title={conflict.message} />
            ))}
            {/* The form is made once: a later answer does not touch what somebody types. */}
            <Settings
              service={service}
              now={data}
              onDone={async (fresh) => {
                queries.setQueryData(php(service).queryKey, fresh);
                done(t("saved"));
              }}
            />
          </Stack>
        )}
      </Load>
    </>
  );
}

const shown = (value: unknown) => (value === null || value === undefined ? "" : String(value));

function Settings({ service, now, onDone }: { service: number; now: Php; onDone: (fresh: Php) => Promise<void> }) {
  const [initial, setInitial] = useState(now);
  const [version, setVersion] = useState(now.version);
  const [options, setOptions] = useState<Record<string, string>>({});
  const [extensions, setExtensions] = useState<Record<string, "enabled" | "disabled">>({});
  const [tried, setTried] = useState(false);
  const good = Object.entries(options).every(([name, typed]) => isGood(initial.options[name]?.type, typed));
  const [save, { busy, error }] = useAction(async () => {
    const fresh = await updatePhp(service, {
      ...(version === initial.version ? {} : { version }),
      options: Object.fromEntries(
        Object.entries(options).map(([name, typed]) => [name, valueOf(initial.options[name]?.type, typed)]),
      ),
      extensions: Object.entries(extensions).map(([name, state]) => ({ name, state })),
    });
    setInitial(fresh);
    setTried(false);
    setOptions({});
    setExtensions({});
    await onDone(fresh);
  });
  const changed = version !== initial.version || Object.keys(options).length + Object.keys(extensions).length > 0;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (good) void save();
      }}
    >
      <Stack gap="lg">
        <NativeSelect
          maw={360}
          label={t("version")}
          value={version}
          onChange={(event) => setVersion(event.currentTarget.value)}
          data={initial.available.map((one) => ({
            value: one.version,
            label: `PHP ${one.version}${one.supported ? "" : ` (${one.eol ? t("ended", { day: day(one.eol) }) : t("unsupported")})`}`,
          }))}
        />
        <div>
          <Title order={2} size="h4" mb="sm">
            {t("options")}
          </Title>
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
            {Object.entries(initial.options).map(([name, option]) => {
              const value = options[name] ?? shown(option.value);
              const put = (typed: string) => setOptions((all) => ({ ...all, [name]: typed }));
              if (option.type === "boolean")
                return (
                  <Switch
                    key={name}
                    label={name}
                    checked={value === "true" || value === "1"}
                    onChange={(event) => put(String(event.currentTarget.checked))}
                  />
                );
              if (option.type === "choice")
                return (
                  <NativeSelect
                    key={name}
                    label={name}
                    value={value}
                    data={(option.range as unknown[]).map(String)}
                    onChange={(event) => put(event.currentTarget.value)}
                  />
                );
              return (
                <TextInput
                  key={name}
                  label={name}
                  description={[
                    t("default", { value: shown(option.default) || "–" }),
                    option.max === null ? "" : t("max", { value: shown(option.max) }),
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                  value={value}
                  error={tried && !isGood(option.type, value) ? t("integer") : undefined}
                  spellCheck={false}
                  onChange={(event) => put(event.currentTarget.value)}
                />
              );
            })}
          </SimpleGrid>
        </div>
        <div>
          <Title order={2} size="h4" mb="sm">
            {t("extensions")}
          </Title>
          <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="xs">
            {initial.extensions.map((extension) =>
              extension.state === "built_in" ? (
                <Text key={extension.name} size="sm" c="dimmed">
                  {extension.name} ({t("built_in")})
                </Text>
              ) : (
                <Switch
                  key={extension.name}
                  size="sm"
                  label={extension.name}
                  checked={(extensions[extension.name] ?? extension.state) === "enabled"}
                  onChange={(event) => {
                    const state = event.currentTarget.checked ? "enabled" : "disabled";
                    setExtensions((all) => ({ ...all, [extension.name]: state }));
                  }}
                />
              ),
            )}
          </SimpleGrid>
        </div>
        <ErrorNote error={error} />
        <Group>
          <Button type="submit" loading={busy} disabled={!changed}>
            {t("save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
