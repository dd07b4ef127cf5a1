import { ActionIcon, Tooltip } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";

/** A button of a table's row that shows an icon. The label is its tooltip and its name for screen readers. */
export function IconAction({ icon: Shape, label, onClick }: { icon: Icon; label: string; onClick: () => void }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" aria-label={label} onClick={onClick}>
        <Shape size={16} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}
