import { Group, Text } from "@mantine/core";

import { Copy } from "./Copy";
import { t } from "./texts";

export interface DNSRecord {
  name: string;
  type: string;
  value: string;
}

/** A record of the DNS to copy, member by member. */
export function RecordFields({ record }: { record: DNSRecord }) {
  return (
    <Group gap="md" component="dl" m={0}>
      {(["type", "name", "value"] as const).map((member) => (
        <div key={member}>
          <Text component="dt" size="xs" c="dimmed">
            {t(`record.${member}`)}
          </Text>
          <Text component="dd" m={0} size="sm">
            <Copy value={record[member]} label={t(`record.${member}`)} />
          </Text>
        </div>
      ))}
    </Group>
  );
}
