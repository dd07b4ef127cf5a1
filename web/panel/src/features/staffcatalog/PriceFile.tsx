import { Alert, Button, Code, Group, Stack, Text, Textarea } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { number } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { DataTable } from "~/ui/DataTable";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { useCan } from "~/ui/staff/api";
import { usd } from "~/ui/staff/usd";

import { file, put, type Change, type Kind } from "./api";
import { useEdited } from "./edited";
import { t } from "./texts";

export const Catalog = () => <PriceFile kind="catalog" />;
export const DomainPrices = () => <PriceFile kind="domain-prices" />;

/** What is sold, as a file: edited, then looked at, then made live. */
function PriceFile({ kind }: { kind: Kind }) {
  const query = useQuery(file(kind));
  return (
    <>
      <PageHeader title={t(`${kind}.title`)} description={t(`${kind}.description`)} />
      <Load query={query}>{(data) => <Editor kind={kind} latest={data.file} />}</Load>
    </>
  );
}

type Report = Awaited<ReturnType<typeof put>>;

function Editor({ kind, latest }: { kind: Kind; latest: string }) {
  const can = useCan();
  const queries = useQueryClient();
  const { text, changed, moved, canReset, edit, reset, published } = useEdited(latest);
  const [seen, setSeen] = useState<{ text: string; report: Report } | null>(null);
  const [preview, { busy: looking, error }] = useAction(async () => {
    setSeen({ text, report: await put(kind, text, false) });
  });
  const [publish, { busy: publishing, error: refused }] = useAction(async () => {
    await put(kind, text, true);
    published(text);
    await queries.invalidateQueries({ queryKey: ["staff", kind] });
    done(t("file.live"));
  });
  const may = can(kind === "catalog" ? "staff.catalog.import" : "staff.domain_prices.import");
  const looked = seen?.text === text && changed;
  return (
    <Stack>
      <Textarea
        label={t("file")}
        description={t("file.hint")}
        value={text}
        onChange={(event) => edit(event.currentTarget.value)}
        autosize
        minRows={16}
        maxRows={36}
        readOnly={!may}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", whiteSpace: "pre", overflowX: "auto" } }}
      />
      {moved && <Alert color="orange" role="status" title={t("file.moved")} />}
      <ErrorNote error={error ?? refused} />
      {looked && seen && <Preview report={seen.report} />}
      {may && (
        <Group justify="flex-end">
          <Button variant="default" onClick={reset} disabled={!canReset}>
            {t("file.reset")}
          </Button>
          <Button variant="light" onClick={() => void preview()} loading={looking} disabled={!changed}>
            {t("file.preview")}
          </Button>
          <Button onClick={() => void publish()} loading={publishing} disabled={!looked}>
            {t("file.publish")}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function Preview({ report }: { report: Report }) {
  const withdrawn = Array.isArray(report.withdrawn) ? (report.withdrawn as string[]) : [];
  const unfulfillable = Array.isArray(report.unfulfillable)
    ? (report.unfulfillable as { plan: string; missing: string[] }[])
    : [];
  const changes = Array.isArray(report.changes) ? (report.changes as Change[]) : null;
  const counts = Object.entries(report).filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return (
    <Alert
      color={withdrawn.length + unfulfillable.length > 0 ? "orange" : "blue"}
      title={t("preview.title")}
      role="status"
    >
      <Text size="sm">
        {counts.map(([name, count]) => `${t(`preview.${name}` as "preview.plans")}: ${count}`).join(" · ")}
      </Text>
      {withdrawn.length > 0 && (
        <Text size="sm" fw={600}>
          {t("preview.withdrawn", { names: withdrawn.join(", ") })}
        </Text>
      )}
      {changes && (changes.length > 0 ? <Changes all={changes} /> : <Text size="sm">{t("change.none")}</Text>)}
      {unfulfillable.map((u) => (
        <Text key={u.plan} size="sm" fw={600}>
          {t("preview.unfulfillable", { plan: u.plan, missing: u.missing.join(", ") })}
        </Text>
      ))}
    </Alert>
  );
}

/** What becomes different, line by line, and whom it concerns. */
function Changes({ all }: { all: Change[] }) {
  return (
    <Stack gap="xs" my="sm">
      <DataTable
        caption={t("change.title")}
        rows={all}
        rowKey={(row) => `${row.plan} ${row.what} ${row.name ?? ""} ${row.period_months ?? ""}`}
        columns={[
          { key: "plan", label: t("change.plan"), render: (row) => <Code>{row.plan}</Code> },
          {
            key: "what",
            label: t("change.what"),
            render: (row) => (
              <>
                {t(`change.${row.what}`)} {row.name && <Code>{row.name}</Code>}
                {row.period_months ? ` (${t("change.months", { count: row.period_months })})` : ""}
              </>
            ),
          },
          { key: "was", label: t("change.was"), render: (row) => valueOf(row.was_usd_cents, row.was) },
          { key: "now", label: t("change.now"), render: (row) => valueOf(row.now_usd_cents, row.now) },
          { key: "services", label: t("change.services"), right: true, render: (row) => number(row.services) },
        ]}
      />
      <Text size="sm">{t("change.when")}</Text>
    </Stack>
  );
}

const valueOf = (cents: number | null, text?: string) =>
  cents === null ? (
    <span style={{ overflowWrap: "anywhere" }}>{text === "-1" ? t("change.unlimited") : text || "–"}</span>
  ) : (
    usd(cents)
  );
