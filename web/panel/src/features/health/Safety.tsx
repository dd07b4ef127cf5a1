import { Accordion, Button, Card, Code, Grid, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { IconCircleCheck, IconShieldSearch } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { ApiFailure } from "~/api/failure";
import { number } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { posture, scan, scans, service, type Finding, type Posture, type Scan } from "./api";
import { counts, inOrder, pageOf, pageOfPart, type Page } from "./remedy";
import { Severity } from "./status";
import { t } from "./texts";

/** The score with its parts, what is to be mended, and the scans. */
export function Safety({ id }: { id: number }) {
  const query = useQuery(posture(id));
  const named = useQuery(service(id));
  const queries = useQueryClient();
  const domain = named.data?.domain;
  const [look, { busy, error }] = useAction(async () => {
    const made = await scan(`https://${domain ?? ""}/`);
    await queries.invalidateQueries({ queryKey: ["service", id, "health"] });
    const open = counts(made.summary).reduce((sum, { count }) => sum + count, 0);
    done(made.status === "completed" ? t("scanned", { grade: made.grade ?? "–", count: open }) : t("scan.failed"));
  });
  const start = (
    <Button
      leftSection={<IconShieldSearch size={16} aria-hidden />}
      loading={busy}
      disabled={!domain}
      onClick={() => void look()}
    >
      {t("scan")}
    </Button>
  );
  return (
    <section aria-labelledby="health-safety">
      <Group justify="space-between" mb="sm">
        <div>
          <Title order={2} id="health-safety">
            {t("safety")}
          </Title>
          <Text c="dimmed">{t("safety.text")}</Text>
        </div>
        {query.data?.last_scan_at && start}
      </Group>
      <Stack gap="lg">
        {busy && <Text role="status">{t("scan.busy", { domain: domain ?? "" })}</Text>}
        {error !== null && <NotScanned error={error} service={id} />}
        <Load query={query}>
          {(data) => (
            <>
              {data.last_scan_at === null && (
                <Empty icon={IconShieldSearch} title={t("empty.title")} text={t("empty.text")} action={start} />
              )}
              <Score posture={data} service={id} />
              {data.last_scan_at !== null && <ToMend findings={data.findings} service={id} />}
            </>
          )}
        </Load>
        <Scans service={id} />
      </Stack>
    </section>
  );
}

/** Why a site is not scanned. Who has to prove that the site is theirs sees the record for it. */
function NotScanned({ error, service }: { error: unknown; service: number }) {
  const record =
    error instanceof ApiFailure ? (error.details.record as { name: string; value: string } | undefined) : undefined;
  if (!record) return <ErrorNote error={error} />;
  return (
    <Card withBorder role="alert">
      <Stack gap="xs" align="flex-start">
        <Text fw={600}>{t("proof")}</Text>
        <Text size="sm">
          {t("proof.text")}{" "}
          <AnchorLink to="/services/$service/domains" params={{ service: String(service) }}>
            {t("proof.domains")}
          </AnchorLink>
        </Text>
        <Text size="sm">{t("proof.record")}</Text>
        <Copy value={record.name} />
        <Copy value={record.value} />
      </Stack>
    </Card>
  );
}

function ToPage({ page, service }: { page: Page; service: number }) {
  const params = { service: String(service) };
  const label = t(`page.${page}`);
  return page === "files" ? (
    <AnchorLink to="/services/$service/files/$" params={{ ...params, _splat: "" }}>
      {label}
    </AnchorLink>
  ) : (
    <AnchorLink to={`/services/$service/${page}`} params={params}>
      {label}
    </AnchorLink>
  );
}

function Score({ posture, service }: { posture: Posture; service: number }) {
  return (
    <Card withBorder>
      <Grid gap="lg" align="center">
        <Grid.Col span={{ base: 12, sm: 4 }}>
          <Text size="sm">{t("grade")}</Text>
          <Text fz={40} fw={700} lh={1.2}>
            {posture.grade ?? "–"}
          </Text>
          <Text c="dimmed" size="sm">
            {posture.score === null ? t("score.none") : t("score", { score: number(posture.score) })}
          </Text>
        </Grid.Col>
        <Grid.Col span={{ base: 12, sm: 8 }}>
          <Stack gap="xs">
            {posture.parts.map(({ key, points, most }) => {
              const page = pageOfPart[key];
              return (
                <div key={key}>
                  <Group justify="space-between" gap="xs">
                    <Text size="sm">
                      {t(`part.${key}`)}
                      {points < most && page && (
                        <>
                          {" · "}
                          <ToPage page={page} service={service} />
                        </>
                      )}
                      {points < most && key === "two_factor" && (
                        <>
                          {" · "}
                          <AnchorLink to="/account/security">{t("two_factor.set")}</AnchorLink>
                        </>
                      )}
                    </Text>
                    <Text size="sm">{t("points", { points: number(points), most: number(most) })}</Text>
                  </Group>
                  <Progress value={(points / most) * 100} aria-label={t(`part.${key}`)} />
                </div>
              );
            })}
          </Stack>
        </Grid.Col>
      </Grid>
    </Card>
  );
}

function ToMend({ findings, service }: { findings: Finding[]; service: number }) {
  if (findings.length === 0)
    return (
      <Group gap="xs">
        <IconCircleCheck size={18} color="var(--status-good)" aria-hidden />
        <Text>{t("nothing")}</Text>
      </Group>
    );
  return (
    <Stack>
      {findings.map((finding) => (
        <FindingCard key={finding.key} finding={finding} service={service} />
      ))}
    </Stack>
  );
}

function FindingCard({ finding, service }: { finding: Finding; service: number }) {
  const page = pageOf(finding.operation);
  return (
    <Card withBorder component="article">
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start">
          <Title order={3} size="h5">
            {finding.title}
          </Title>
          <Severity severity={finding.severity} />
        </Group>
        <Text size="sm">{finding.detail}</Text>
        {finding.evidence && <Code block>{finding.evidence}</Code>}
        {finding.remediation && <Text size="sm">{finding.remediation}</Text>}
        {page && (
          <Text size="sm">
            {t("mend_on")} <ToPage page={page} service={service} />
          </Text>
        )}
      </Stack>
    </Card>
  );
}

function Scans({ service }: { service: number }) {
  const query = useQuery(scans(service));
  return (
    <Load query={query} skeleton={null}>
      {({ data }) =>
        data.length > 0 && (
          <div>
            <Title order={3} size="h5" mb="sm">
              {t("scans")}
            </Title>
            <DataTable
              caption={t("scans")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "at", label: t("column.at"), render: (row) => <When time={row.started_at} /> },
                { key: "url", label: t("column.url"), render: (row) => row.url },
                { key: "grade", label: t("column.grade"), render: (row) => <Grade scan={row} /> },
                {
                  key: "open",
                  label: t("column.open"),
                  render: (row) =>
                    counts(row.summary)
                      .map(({ severity, count }) => `${t(`severity.${severity}`)}: ${count}`)
                      .join(", ") || "–",
                },
              ]}
            />
            {data[0] && data[0].findings.length > 0 && <AllChecks scan={data[0]} />}
          </div>
        )
      }
    </Load>
  );
}

function Grade({ scan }: { scan: Scan }) {
  if (scan.status === "failed") return <Status tone="bad" label={t("scan.failed")} />;
  if (scan.status !== "completed") return <Status tone="busy" label={t("scan.running")} />;
  return scan.grade === null ? "–" : `${scan.grade} · ${scan.score ?? 0}`;
}

const outcomes = { pass: "good", fail: "bad", warn: "warn", skip: "neutral" } as const;

function AllChecks({ scan }: { scan: Scan }) {
  return (
    <Accordion variant="contained" mt="md">
      <Accordion.Item value="all">
        <Accordion.Control>{t("all_checks", { count: scan.findings.length })}</Accordion.Control>
        <Accordion.Panel>
          <DataTable
            caption={t("all_checks", { count: scan.findings.length })}
            rows={inOrder(scan.findings)}
            rowKey={(row) => row.key}
            columns={[
              { key: "what", label: t("column.check"), render: (row) => row.title },
              {
                key: "result",
                label: t("column.result"),
                render: (row) => <Status tone={outcomes[row.status]} label={t(`outcome.${row.status}`)} />,
              },
              { key: "evidence", label: t("column.evidence"), render: (row) => row.evidence || "–" },
            ]}
          />
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
