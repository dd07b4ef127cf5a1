/** The labels of a machine by their keys; a plain tag has an empty value. */
type Labels = Record<string, string>;

/** Reads labels as people write them: disk=nvme, gpu. */
export function readLabels(text: string): Labels {
  const all = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((one) => {
      const [key = "", ...value] = one.split("=");
      return [key, value.join("=")] as const;
    });
  return Object.fromEntries(all);
}

/** Writes each label as people do, in the order of their keys. */
export const writeLabels = (labels: Labels) =>
  Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => (value ? `${key}=${value}` : key));

/** To which machines services are to move, out of the fields to, location and labels; what is empty means any. */
export const readTarget = (fields: Record<string, string>) => ({
  to: fields.to?.trim() || undefined,
  location: fields.location?.trim() || undefined,
  labels: fields.labels?.trim() ? readLabels(fields.labels) : undefined,
});
