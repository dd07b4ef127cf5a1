import { Alert, Button, Code, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { number } from "~/i18n/formats";
import { currentLang } from "~/i18n/i18n";
import { useAction } from "~/ui/action";
import { DataTable } from "~/ui/DataTable";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useCan } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import { t as shared } from "~/ui/staff/texts";
import { usd } from "~/ui/staff/usd";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { setTaxRules, takeBackTaxRules, taxRules, type Amounts, type Taxed, type TaxRules as Rules } from "./api";
import { useEdited } from "./edited";
import { t } from "./texts";

/** The taxes by the country of the buyer: what a price becomes, the file that says so, and the versions of it. */
export function TaxRules() {
  const query = useQuery(taxRules);
  return (
    <>
      <PageHeader title={t("tax.title")} description={t("tax.description")} />
      <Load query={query}>
        {(data) => (
          <Stack gap="xl">
            <InForce rules={data} />
            <Editor latest={data.file} />
            <Versions rules={data} />
          </Stack>
        )}
      </Load>
    </>
  );
}

function InForce({ rules }: { rules: Rules }) {
  return (
    <section aria-labelledby="in-force">
      <Title order={2} id="in-force" mb="xs">
        {t("tax.in_force")}
      </Title>
      <Text c="dimmed" mb="sm">
        {t(`tax.source.${rules.source}`)}{" "}
        {rules.valid_from && (
          <>
            {t("tax.since")} <When time={rules.valid_from} />
          </>
        )}
      </Text>
      {rules.source !== "none" && <Prices rows={rules.rules} caption={t("tax.in_force")} />}
    </section>
  );
}

/** What a price of ten dollars becomes; with `compare`, beside what it is now. */
function Prices({ rows, caption, compare = false }: { rows: Taxed[]; caption: string; compare?: boolean }) {
  return (
    <DataTable
      caption={caption}
      rows={rows}
      rowKey={(row) => `${row.country} ${row.business}`}
      columns={[
        {
          key: "country",
          label: t("tax.country"),
          render: (row) => (
            <>
              {countryOf(row.country)}
              <Text size="xs" c="dimmed">
                {t(row.business ? "tax.business" : "tax.others")}
              </Text>
            </>
          ),
        },
        { key: "tax", label: t("tax.tax"), render: (row) => rateOf(row.now) },
        { key: "net", label: t("tax.net"), right: true, render: (row) => usd(row.now.net_usd_cents) },
        { key: "total", label: t("tax.total"), right: true, render: (row) => usd(row.now.total_usd_cents) },
        ...(compare
          ? [
              {
                key: "was",
                label: t("tax.was"),
                right: true,
                render: (row: Taxed) => (
                  <Text span size="sm" fw={differs(row) ? 700 : undefined} c={differs(row) ? undefined : "dimmed"}>
                    {rateOf(row.was)}, {usd(row.was.total_usd_cents)}
                  </Text>
                ),
              },
            ]
          : []),
      ]}
    />
  );
}

const differs = ({ was, now }: Taxed) =>
  was.total_usd_cents !== now.total_usd_cents ||
  was.net_usd_cents !== now.net_usd_cents ||
  was.name !== now.name ||
  was.note !== now.note;

const rateOf = ({ name, rate, included, note }: Amounts) => {
  if (note === "reverse_charge" || note === "exempt") return t(`tax.note.${note}`);
  if (rate === 0) return t("tax.none");
  return t(included ? "tax.rate.included" : "tax.rate.added", { name, rate: number(rate) });
};

const countryOf = (code: string) =>
  code === "" ? t("tax.elsewhere") : (new Intl.DisplayNames(currentLang(), { type: "region" }).of(code) ?? code);

const example = `home: UZ
countries:
  UZ: {name: QQS, rate: "12", tax_number: '\\d{9}'}
  DE: {name: MwSt, rate: "19", prices: include, businesses: reverse_charge}
elsewhere: {rate: "0"}`;

function Editor({ latest }: { latest: string }) {
  const can = useCan();
  const finish = useChanged();
  const { text, changed, moved, canReset, edit, reset, published } = useEdited(latest);
  const [seen, setSeen] = useState<{ text: string; rows: Taxed[] } | null>(null);
  const [preview, { busy, error }] = useAction(async () => {
    setSeen({ text, rows: (await setTaxRules({ file: text }, true)).rules });
  });
  const may = can("staff.tax_rules.set");
  const looked = seen?.text === text && changed;
  return (
    <section aria-labelledby="tax-file">
      <Title order={2} id="tax-file" mb="xs">
        {t("file")}
      </Title>
      <Stack>
        <Textarea
          aria-labelledby="tax-file"
          description={t("tax.file.hint")}
          value={text}
          onChange={(event) => edit(event.currentTarget.value)}
          autosize
          minRows={8}
          maxRows={30}
          readOnly={!may}
          spellCheck={false}
          styles={{
            input: { fontFamily: "var(--mantine-font-family-monospace)", whiteSpace: "pre", overflowX: "auto" },
          }}
        />
        {text === "" && (
          <div>
            <Text size="sm">{t("tax.example")}</Text>
            <Code block tabIndex={0}>
              {example}
            </Code>
          </div>
        )}
        {moved && <Alert color="orange" role="status" title={t("file.moved")} />}
        <ErrorNote error={error} />
        {looked && seen && <Prices rows={seen.rows} caption={t("tax.preview")} compare />}
        {may && (
          <Group justify="flex-end">
            <Button variant="default" onClick={reset} disabled={!canReset}>
              {t("file.reset")}
            </Button>
            <Button variant="light" onClick={() => void preview()} loading={busy} disabled={!changed}>
              {t("file.preview")}
            </Button>
            <Act
              operation="staff.tax_rules.set"
              label={t("file.publish")}
              variant="filled"
              disabled={!looked}
              text={t("tax.publish.text")}
              reason="staff"
              fields={[
                {
                  name: "from",
                  label: t("tax.from"),
                  hint: t("tax.from.hint"),
                  type: "datetime-local",
                  optional: true,
                },
              ]}
              act={async ({ reason, fields }) => {
                await setTaxRules(
                  { file: text, reason, valid_from: fields.from ? new Date(fields.from).toISOString() : undefined },
                  false,
                );
                published(text);
                await finish(t("tax.set"));
              }}
            />
          </Group>
        )}
      </Stack>
    </section>
  );
}

function Versions({ rules }: { rules: Rules }) {
  const changed = useChanged();
  if (rules.versions.length === 0) return null;
  return (
    <section aria-labelledby="versions">
      <Title order={2} id="versions" mb="sm">
        {t("tax.versions")}
      </Title>
      <DataTable
        caption={t("tax.versions")}
        rows={rules.versions}
        rowKey={(row) => row.id}
        columns={[
          { key: "from", label: t("tax.from"), render: (row) => <When time={row.valid_from} /> },
          {
            key: "state",
            label: shared("column.status"),
            render: (row) => (
              <Status
                tone={row.state === "in_force" ? "good" : row.state === "ahead" ? "busy" : "neutral"}
                label={t(`tax.state.${row.state}`)}
              />
            ),
          },
          { key: "set", label: t("tax.set_at"), render: (row) => <When time={row.created_at} /> },
          {
            key: "actions",
            label: shared("column.actions"),
            actions: true,
            render: (row) =>
              row.state === "ahead" && (
                <Act
                  operation="staff.tax_rules.take_back"
                  label={t("tax.take_back")}
                  size="compact-sm"
                  danger
                  text={t("tax.take_back.text")}
                  reason="staff"
                  act={async ({ reason }) => {
                    await takeBackTaxRules(row.id, reason);
                    await changed(t("tax.taken_back"));
                  }}
                />
              ),
          },
        ]}
      />
    </section>
  );
}
