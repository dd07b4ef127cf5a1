import { NativeSelect, type MantineSpacing } from "@mantine/core";

import { t } from "./texts";

/** A choice of one value, or all. */
export function Filter<V extends string>({
  label,
  value,
  options,
  all = t("filter.all"),
  onChange,
  mb,
}: {
  label: string;
  value: V | undefined;
  options: readonly (readonly [V, string])[];
  /** What no choice means. */
  all?: string;
  onChange: (next: V | undefined) => void;
  /** The margin below, where the filter stands alone. */
  mb?: MantineSpacing;
}) {
  return (
    <NativeSelect
      label={label}
      value={value ?? ""}
      onChange={(event) => onChange((event.currentTarget.value || undefined) as V | undefined)}
      data={[{ value: "", label: all }, ...options.map(([one, name]) => ({ value: one, label: name }))]}
      maw={260}
      mb={mb}
    />
  );
}
