import { Alert, Button, Group, Modal, NativeSelect, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { IconDownload, IconLink, IconPlus, IconUsers } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { money, number, percent } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { ButtonLink } from "~/ui/ButtonLink";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Figure } from "~/ui/Figure";
import { IconAction } from "~/ui/IconAction";
import { Load } from "~/ui/Load";
import { failed } from "~/ui/notice";
import { Pager } from "~/ui/Pager";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { allServices, catalog, clientLink, services, stats, type Service, type World } from "./api";
import { Frame } from "./Frame";
import { PlayMoney } from "./PlayMoney";
import { csv, marginOf, retailOf } from "./margin";
import { statuses, tones, type Search } from "./search";
import { t } from "./texts";

/** One table of what clients have: what renews when, whether the wallet pays for it, and what is left. */
export function Clients({ search, onSearch }: { search: Search; onSearch: (next: Search) => void }) {
  const { world = "live", page = 1, ...filter } = search;
  const query = useQuery(services(world, filter, page));
  const sold = useQuery(catalog(world));
  const prices = retailOf(sold.data?.data ?? []);
  const [link, setLink] = useState<{ url: string; service: Service } | null>(null);
  const [save, { busy, error }] = useAction(async () => {
    const text = csv(await allServices(world, filter), prices);
    const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    const anchor = Object.assign(document.createElement("a"), { href: url, download: "services.csv" });
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  const letIn = async (service: Service) => {
    try {
      setLink({ url: (await clientLink(world, service.id)).url, service });
    } catch (refused) {
      failed(refused);
    }
  };
  const sale = { world: world === "sandbox" ? world : undefined, client_ref: search.client_ref };
  const set = (next: Partial<Search>) => onSearch({ ...search, page: undefined, ...next });
  const filtered = Object.values(filter).some((value) => value !== undefined);
  return (
    <Frame
      page="/reseller"
      world={world}
      onWorld={(next) => onSearch({ world: next })}
      actions={
        <ButtonLink to="/reseller/new" search={sale} leftSection={<IconPlus size={16} aria-hidden />}>
          {t("title./reseller/new")}
        </ButtonLink>
      }
    >
      <Stack gap="lg">
        <Figures world={world} />
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }}>
          <Typed label={t("filter.client")} value={search.client_ref} onDone={(client_ref) => set({ client_ref })} />
          <Typed label={t("filter.q")} value={search.q} onDone={(q) => set({ q })} />
          <NativeSelect
            label={t("filter.status")}
            value={search.status ?? ""}
            data={[
              { value: "", label: t("filter.all") },
              ...statuses.map((one) => ({ value: one, label: t(`status.${one}`) })),
            ]}
            onChange={(event) => set({ status: statuses.find((one) => one === event.currentTarget.value) })}
          />
          <NativeSelect
            label={t("filter.renews")}
            value={String(search.days ?? "")}
            data={[
              { value: "", label: t("filter.all") },
              ...[7, 30, 90].map((days) => ({ value: String(days), label: t("filter.days", { count: days }) })),
            ]}
            onChange={(event) => set({ days: Number(event.currentTarget.value) || undefined })}
          />
        </SimpleGrid>
        <ErrorNote error={error} />
        <Load query={query}>
          {({ data, meta }) =>
            data.length === 0 ? (
              <Empty
                icon={IconUsers}
                title={t(filtered ? "none.filtered" : "none")}
                text={filtered ? undefined : t("none.text")}
                action={
                  !filtered && (
                    <Group justify="center">
                      <ButtonLink to="/reseller/new" search={sale}>
                        {t("none.sell")}
                      </ButtonLink>
                      <AnchorLink to="/reseller/start" search={{ world }}>
                        {t("title./reseller/start")}
                      </AnchorLink>
                    </Group>
                  )
                }
              />
            ) : (
              <div>
                <Group justify="space-between" mb="sm">
                  <Text size="sm">{t("count", { count: meta.total })}</Text>
                  <Button
                    variant="default"
                    leftSection={<IconDownload size={16} aria-hidden />}
                    loading={busy}
                    disabled={!sold.data}
                    onClick={() => void save()}
                  >
                    {t("csv")}
                  </Button>
                </Group>
                <DataTable
                  caption={t("title./reseller")}
                  rows={data}
                  rowKey={(row) => row.id}
                  columns={[
                    { key: "client", label: t("column.client"), render: (row) => row.client_ref ?? "–" },
                    {
                      key: "service",
                      label: t("column.service"),
                      render: (row) => (
                        <Stack gap={2}>
                          <AnchorLink
                            to="/reseller/services/$resold"
                            params={{ resold: String(row.id) }}
                            search={{ world: world === "sandbox" ? world : undefined }}
                          >
                            {row.label || (row.domain ?? `#${row.id}`)}
                          </AnchorLink>
                          <Text size="sm" c="dimmed">
                            {row.plan.slug}
                          </Text>
                        </Stack>
                      ),
                    },
                    {
                      key: "status",
                      label: t("column.status"),
                      render: (row) => <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />,
                    },
                    {
                      key: "renews",
                      label: t("column.renews"),
                      render: (row) => (
                        <Stack gap={2} align="flex-start">
                          {row.expires_at ? <When time={row.expires_at} form="day" /> : "–"}
                          {row.expires_at &&
                            (row.auto_renew ? (
                              <Status
                                tone={row.renewal_covered ? "good" : "warn"}
                                label={t(row.renewal_covered ? "covered" : "covered_not")}
                              />
                            ) : (
                              <Text size="sm" c="dimmed">
                                {t("ends")}
                              </Text>
                            ))}
                        </Stack>
                      ),
                    },
                    { key: "cost", label: t("column.cost"), right: true, render: (row) => money(row.renew_cost) },
                    {
                      key: "retail",
                      label: t("column.retail"),
                      right: true,
                      render: (row) => {
                        const margin = marginOf(row, prices);
                        return margin ? money(margin.retail) : "–";
                      },
                    },
                    {
                      key: "margin",
                      label: t("column.margin"),
                      right: true,
                      render: (row) => {
                        const margin = marginOf(row, prices);
                        return margin
                          ? `${money(margin.margin)}${margin.share === null ? "" : ` (${percent(margin.share)})`}`
                          : "–";
                      },
                    },
                    {
                      key: "actions",
                      label: t("column.actions"),
                      actions: true,
                      render: (row) =>
                        row.available_actions.includes("login_link") && (
                          <IconAction
                            icon={IconLink}
                            label={t("link", { name: row.label || (row.domain ?? String(row.id)) })}
                            onClick={() => void letIn(row)}
                          />
                        ),
                    },
                  ]}
                />
                <Pager meta={meta} onChange={(next) => onSearch({ ...search, page: next })} />
              </div>
            )
          }
        </Load>
      </Stack>
      <Modal opened={link !== null} onClose={() => setLink(null)} title={t("link.title")}>
        {link && (
          <Stack align="flex-start">
            <Text>
              {t("link.text", { name: link.service.label || (link.service.domain ?? String(link.service.id)) })}
            </Text>
            <Copy value={link.url} label={t("link.title")} />
          </Stack>
        )}
      </Modal>
    </Frame>
  );
}

/** A filter that is typed; it takes effect when it is left, or by Enter. */
function Typed({ label, value = "", onDone }: { label: string; value?: string; onDone: (value?: string) => void }) {
  const apply = (text: string) => {
    if (text.trim() !== value) onDone(text.trim() || undefined);
  };
  return (
    <TextInput
      key={value}
      label={label}
      defaultValue={value}
      maxLength={64}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply(event.currentTarget.value);
      }}
    />
  );
}

function Figures({ world }: { world: World }) {
  const { data } = useQuery(stats(world));
  if (!data) return null;
  const { renewals } = data;
  return (
    <>
      {renewals.uncovered_count > 0 && (
        <Alert
          color="orange"
          title={t("uncovered", { count: renewals.uncovered_count, amount: money(renewals.uncovered) })}
        >
          {world === "live" && (
            <AnchorLink to="/wallet" search={{ amount: renewals.uncovered.usd_cents, back: "/reseller" }}>
              {t("top_up")}
            </AnchorLink>
          )}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Figure label={t("figure.services")} value={number(data.services.total)} />
        <Figure label={t("figure.balance")} value={money(data.balance)}>
          {world === "sandbox" && <PlayMoney back="/reseller?world=sandbox" />}
        </Figure>
        <Figure label={t("figure.renewals", { count: renewals.days })} value={money(renewals.cost)} />
      </SimpleGrid>
    </>
  );
}
