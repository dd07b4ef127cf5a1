import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { serviceOf, servicesLike } from "./api";
import { t } from "./texts";

/** The service that something is about, such as a question: chosen among a few, sought among many. */
export function ServiceField({
  chosen,
  ...input
}: {
  chosen?: number;
  label?: string;
  value?: string | null;
  defaultValue?: string | null;
  onChange?: (value: string | null) => void;
  error?: ReactNode;
}) {
  const [search, setSearch] = useState("");
  const [sought] = useDebouncedValue(search, 250);
  const { data } = useQuery(servicesLike(sought));
  const { data: all } = useQuery(servicesLike(""));
  const { data: one, isPending } = useQuery({ ...serviceOf(chosen ?? 0), enabled: chosen !== undefined });
  if (!all || all.data.length === 0 || (chosen !== undefined && isPending)) return null;
  const rows = new Map([...all.data, ...(data?.data ?? []), ...(one ? [one] : [])].map((row) => [row.id, row]));
  return (
    <Select
      label={t("service")}
      placeholder={t("service.none")}
      clearable
      clearButtonProps={{ "aria-label": t("service.clear") }}
      searchable={all.meta.total > 8}
      onSearchChange={setSearch}
      nothingFoundMessage={t("service.nothing")}
      data={[...rows.values()].map((row) => ({ value: String(row.id), label: row.unicode_domain ?? row.label }))}
      {...input}
    />
  );
}
