import { Alert, Button, Card, Checkbox, Group, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { percent } from "~/i18n/formats";
import { billing, type Profile } from "~/ui/billing";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";

import { setBilling } from "./api";
import { t } from "./texts";

/** Whom invoices are for, and how purchases are taxed. */
export function BillingPage() {
  const query = useQuery(billing);
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Load query={query}>
        {(data) => (
          <Stack maw={720}>
            <Tax profile={data} />
            <Card withBorder>
              <BillingForm profile={data} />
            </Card>
          </Stack>
        )}
      </Load>
    </>
  );
}

function Tax({ profile }: { profile: Profile }) {
  if (profile.tax_note) return <Alert color="blue">{t(`note.${profile.tax_note}`)}</Alert>;
  if (!profile.tax_rate) return null;
  const values = { name: profile.tax_name, rate: percent(profile.tax_rate / 100, 2) };
  return <Alert color="blue">{t(profile.tax_included ? "tax.included" : "tax.added", values)}</Alert>;
}

const fields = ["name", "email", "address", "postal_code", "city", "region", "country"] as const;
const complete = {
  name: "name",
  email: "email",
  address: "street-address",
  postal_code: "postal-code",
  city: "address-level2",
  region: "address-level1",
  country: "country",
};

function BillingForm({ profile }: { profile: Profile }) {
  const queries = useQueryClient();
  const [company, setCompany] = useState(profile.company);
  const form = useForm({
    mode: "uncontrolled",
    initialValues: {
      name: profile.name,
      email: profile.email,
      address: profile.address,
      postal_code: profile.postal_code,
      city: profile.city,
      region: profile.region,
      country: profile.country,
      tax_number: profile.tax_number,
    },
    validate: {
      name: (value) => (value.trim() ? null : t("problem.required")),
      address: (value) => (company && !value.trim() ? t("problem.required") : null),
      country: (value) => (/^[A-Za-z]{2}$/.test(value.trim()) ? null : t("problem.country")),
      email: (value) => (!value.trim() || /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value.trim()) ? null : t("problem.email")),
    },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    const kept = Object.fromEntries(
      Object.entries(values)
        .map(([field, value]) => [field, value.trim()])
        .filter(([field, value]) => value !== "" && (company || field !== "tax_number")),
    ) as { name: string; country: string };
    const saved = await setBilling({ ...kept, country: kept.country.toUpperCase(), company });
    queries.setQueryData(["billing"], saved);
    done(t("saved"));
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Checkbox
          label={t("company")}
          description={t("company.hint")}
          checked={company}
          onChange={(event) => setCompany(event.currentTarget.checked)}
        />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {fields.map((field) => (
            <TextInput
              key={form.key(field)}
              label={t(field === "name" && company ? "name.company" : field)}
              description={field === "email" ? t("email.hint") : field === "country" ? t("country.hint") : undefined}
              autoComplete={complete[field]}
              required={field === "name" || field === "country" || (field === "address" && company)}
              {...form.getInputProps(field)}
            />
          ))}
          {company && (
            <TextInput
              key={form.key("tax_number")}
              label={t("tax_number")}
              description={t("tax_number.hint")}
              autoComplete="off"
              {...form.getInputProps("tax_number")}
            />
          )}
        </SimpleGrid>
        <Text size="sm" c="dimmed">
          {t("issued")}
        </Text>
        <ErrorNote error={error} />
        <Group>
          <Button type="submit" loading={form.submitting}>
            {t("save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
