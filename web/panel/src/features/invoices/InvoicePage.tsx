import { Alert, Button, Card, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconDownload, IconPrinter } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { AnchorLink } from "~/ui/AnchorLink";
import { day, money, number, percent } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { When } from "~/ui/When";

import { invoice, pdf, type Invoice } from "./api";
import { t } from "./texts";

export function InvoicePage({ id }: { id: number }) {
  const query = useQuery(invoice(id));
  return (
    <Load query={query}>
      {(data) => (
        <>
          <PageHeader
            title={`${t(`kind.${data.kind}`)} ${data.number ?? ""}`}
            description={data.issued_at && <When time={data.issued_at} form="day" />}
            actions={
              <>
                <Button
                  component="a"
                  href={pdf(id)}
                  target="_blank"
                  leftSection={<IconDownload size={16} aria-hidden />}
                  disabled={data.number === null}
                >
                  {t("pdf")}
                </Button>
                <Button
                  variant="default"
                  leftSection={<IconPrinter size={16} aria-hidden />}
                  onClick={() => window.print()}
                  className="no-print"
                >
                  {t("print")}
                </Button>
              </>
            }
          />
          <Stack>
            {data.number === null && (
              <Alert color="blue" role="status">
                {t("numbering")}
              </Alert>
            )}
            {data.reason && <Text>{data.reason}</Text>}
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <Party title={t("seller")} party={data.seller} />
              <Party title={t("buyer")} party={data.buyer} />
            </SimpleGrid>
            <Lines invoice={data} />
            <Sums invoice={data} />
            <Group className="no-print">
              {data.order_id && (
                <AnchorLink to="/orders/$order" params={{ order: String(data.order_id) }}>
                  {t("order")}
                </AnchorLink>
              )}
              {data.corrects_id && (
                <AnchorLink to="/invoices/$invoice" params={{ invoice: String(data.corrects_id) }}>
                  {t("corrects")}
                </AnchorLink>
              )}
            </Group>
          </Stack>
        </>
      )}
    </Load>
  );
}

function Party({ title, party }: { title: string; party: Invoice["seller"] }) {
  const lines = [
    party.address,
    [party.postal_code, party.city].filter(Boolean).join(" "),
    [party.region, party.country].filter(Boolean).join(", "),
    party.tax_number && `${t("tax_number")} ${party.tax_number}`,
    party.registration,
    party.email,
  ].filter(Boolean);
  return (
    <Card withBorder>
      <Title order={2} mb="xs">
        {title}
      </Title>
      <Text fw={600}>{party.name}</Text>
      {lines.map((line) => (
        <Text key={line} size="sm">
          {line}
        </Text>
      ))}
    </Card>
  );
}

function Lines({ invoice }: { invoice: Invoice }) {
  return (
    <DataTable
      caption={t("lines")}
      rows={invoice.lines.map((line, at) => ({ ...line, at }))}
      rowKey={(row) => row.at}
      columns={[
        {
          key: "title",
          label: t("line"),
          render: (row) => [row.title, row.domain].filter(Boolean).join(", "),
        },
        { key: "quantity", label: t("quantity"), right: true, render: (row) => number(row.quantity) },
        { key: "price", label: t("price"), right: true, render: (row) => money(row.unit_price) },
        {
          key: "discount",
          label: t("discount"),
          right: true,
          render: (row) => (row.discount.usd_cents ? money(row.discount) : "–"),
        },
        { key: "total", label: t("total"), right: true, render: (row) => money(row.total) },
      ]}
    />
  );
}

function Sums({ invoice }: { invoice: Invoice }) {
  const tax = `${invoice.tax_name || t("tax")} ${percent(invoice.tax_rate / 100, 2)}`;
  const rows: [string, string][] = [];
  if (invoice.subtotal.usd_cents !== invoice.total.usd_cents) rows.push([t("subtotal"), money(invoice.subtotal)]);
  if (invoice.discount.usd_cents) rows.push([t("discount"), money(invoice.discount)]);
  if (invoice.tax.usd_cents) rows.push([tax, money(invoice.tax)]);
  if (invoice.tax_included.usd_cents) rows.push([`${tax}, ${t("contained")}`, money(invoice.tax_included)]);
  return (
    <Stack gap={4} align="flex-end">
      {rows.map(([label, value]) => (
        <Text key={label}>
          {label}: {value}
        </Text>
      ))}
      <Text fw={700} size="lg">
        {t("total")}: {money(invoice.total)}
      </Text>
      {invoice.tax_note && <Text size="sm">{t(`note.${invoice.tax_note}`)}</Text>}
      {invoice.credited.usd_cents > 0 && <Text>{t("credited", { amount: money(invoice.credited) })}</Text>}
      {invoice.paid_at && (
        <Text size="sm" c="dimmed">
          {t("paid", { date: day(invoice.paid_at) })}
        </Text>
      )}
    </Stack>
  );
}
